/* Programs that a traced command executes, and processes that it forks. */
#include "tests/unit/trace/live.h"
#include "trace/children.h"

#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

static void begin(struct live *live)
{
    live_make(live);
    live->options.children = true;
    CU_ASSERT_EQUAL_FATAL(live_open(live), 0);
    live_run(live);
}

/* Calls of each program of one process are counted. */
static void test_execute(void)
{
    struct live live;
    begin(&live);
    live_call(&live, WORK_ALPHA, 3, 1000);
    CU_ASSERT_EQUAL(live_order(&live.program, (struct order){.kind = ORDER_EXECUTE}),
                    live.program.pid);
    live_call(&live, WORK_ALPHA, 40, 1000);
    live_call(&live, WORK_BETA, 5, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 4), 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(live.result.wait_status), 4);
    CU_ASSERT_EQUAL(live.result.calls, 48);
    CU_ASSERT_EQUAL(live.result.programs, 2);
    CU_ASSERT_EQUAL(live.result.left_out, 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|43 work_beta|5");
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT sum(c.calls) FROM call_cost c JOIN thread t ON t.id = "
                          "c.thread_id GROUP BY t.id ORDER BY 1"),
        "3 45"); /* a row for each of the two programs */
    live_end(&live);
}

/* A fork's calls stay after it was killed. */
static void test_fork(void)
{
    struct live live;
    begin(&live);
    live_call(&live, WORK_ALPHA, 3, 1000);
    const pid_t fork = live_order(&live.program, (struct order){ORDER_FORK, WORK_GAMMA, 20, 1000});
    CU_ASSERT_TRUE(live_answers(&live, "status", ": 23 calls"));
    kill(fork, SIGKILL);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.programs, 1);
    CU_ASSERT_EQUAL(live.result.processes, 2);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|3 work_gamma|20");
    live_end(&live);
}

/* Probes leave one process that is named, and no other one. */
static void test_detach(void)
{
    struct live live;
    begin(&live);
    CU_ASSERT_TRUE(live_refuses(&live, "detach", SPROF_ESTATE, "probes stay in the programs"));
    CU_ASSERT_TRUE(live_refuses(&live, "detach 1", SPROF_ESTATE, "process 1 is not traced here"));
    live_call(&live, WORK_ALPHA, 3, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "end", "the trace ends"));
    live_call(&live, WORK_ALPHA, 30, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.calls, 3);
    CU_ASSERT_EQUAL(live.result.processes, 1);
    live_end(&live);
}

/* The command has ended; its fork is still traced, until the trace is ended. */
static void test_outlives_the_command(void)
{
    struct live live;
    begin(&live);
    const pid_t fork = live_order(&live.program, (struct order){ORDER_FORK, WORK_BETA, 20, 1000});
    live_order(&live.program, (struct order){.kind = ORDER_QUIT, .times = 5});
    live_wait_said(&live, 1);
    CU_ASSERT_TRUE(live_answers(&live, "status", ": 20 calls"));
    CU_ASSERT_EQUAL(kill(fork, SIGKILL), 0);
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_TRUE(made_said(&live, "the command has ended; 1 process that it started goes on and "
                                    "is still traced"));
    CU_ASSERT_EQUAL(WEXITSTATUS(live.result.wait_status), 5);
    CU_ASSERT_EQUAL(live.result.processes, 2);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_beta|20");
    live_end(&live);
}

/* == Processes that connect == */

static int connect_to(const struct live *live)
{
    const char *name = trace_children_address(live->session);
    const struct timeval patience = {.tv_sec = 60};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strcspn(name, ":");
    memcpy(address.sun_path + 1, name, length);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&address,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)),
                    0);
    return fd;
}

/* What is no hello is dropped; one of another version is refused once, and its program goes on. */
static void test_strangers(void)
{
    struct live live;
    struct probe_hello hello = {.magic = PROBE_MAGIC, .version = PROBE_VERSION + 1};
    struct probe_request request = {.kind = PROBE_GO};
    begin(&live);
    const int silent = connect_to(&live), short_one = connect_to(&live);
    CU_ASSERT_EQUAL(send(short_one, "hello", 5, 0), 5);
    CU_ASSERT_EQUAL(recv(short_one, &request, sizeof request, 0), 0);
    close(short_one);
    for (int i = 0; i < 2; i++) {
        const int other = connect_to(&live);
        request.kind = PROBE_GO;
        CU_ASSERT_EQUAL(send(other, &hello, sizeof hello, 0), sizeof hello);
        CU_ASSERT_EQUAL(recv(other, &request, sizeof request, 0), sizeof request);
        CU_ASSERT_EQUAL(request.kind, PROBE_GIVE_UP);
        close(other);
    }
    live_call(&live, WORK_ALPHA, 3, 1000);
    close(silent);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.left_out, 2);
    CU_ASSERT_EQUAL(live.result.programs, 1);
    CU_ASSERT_EQUAL(live.result.calls, 3);
    CU_ASSERT_EQUAL(atomic_load(&live.said_count), 1);
    CU_ASSERT_TRUE(made_said(&live, "is of another version than sprof"));
    live_end(&live);
}

/* A program that ends before its hello is none, and its end is not waited for. */
static void test_ended_before_hello(void)
{
    struct live live;
    begin(&live);
    close(connect_to(&live));
    live_call(&live, WORK_BETA, 2, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.programs, 1);
    CU_ASSERT_EQUAL(live.result.left_out, 0);
    CU_ASSERT_EQUAL(live.log.said.length, 0);
    live_end(&live);
}

/* Later programs have what commands chose before. */
static void test_later_program(void)
{
    struct live live;
    begin(&live);
    CU_ASSERT_TRUE(live_answers(&live, "probe -work_alpha", "2 probes are on"));
    live_order(&live.program, (struct order){.kind = ORDER_EXECUTE});
    live_call(&live, WORK_ALPHA, 9, 1000);
    live_call(&live, WORK_BETA, 9, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "stop", "no calls are being measured"));
    live_order(&live.program, (struct order){.kind = ORDER_EXECUTE});
    live_call(&live, WORK_BETA, 90, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "clear", "is dropped"));
    CU_ASSERT_TRUE(live_answers(&live, "start", "calls are being measured"));
    live_call(&live, WORK_GAMMA, 7, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.calls, 7);
    CU_ASSERT_EQUAL(live.result.programs, 3);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_gamma|7");
    live_end(&live);
}

void sprof_suite_trace_children(void);

void sprof_suite_trace_children(void)
{
    CU_pSuite suite = CU_add_suite("trace/children", NULL, NULL);
    CU_add_test(suite, "execute", test_execute);
    CU_add_test(suite, "fork", test_fork);
    CU_add_test(suite, "detach", test_detach);
    CU_add_test(suite, "a process that outlives the command", test_outlives_the_command);
    CU_add_test(suite, "strangers", test_strangers);
    CU_add_test(suite, "ended before its hello", test_ended_before_hello);
    CU_add_test(suite, "a later program", test_later_program);
}
