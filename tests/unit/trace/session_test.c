/* What trace_open refuses before anything has changed, and what it notes of the run. */
#include "tests/unit/trace/live.h"
#include "tests/unit/trace/self_counting.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Refused with this code and a message that holds `part`; no session, and no recording is left. */
static bool refuses(struct live *live, int code, const char *part)
{
    const bool is = live_open(live) == code && !live->session &&
                    strstr(live->error.message, part) && access(live->place.path, F_OK) != 0;
    if (!is)
        fprintf(stderr, "\nno \"%s\" in: %s\n", part, live->error.message);
    live_end(live);
    return is;
}

static void test_options(void)
{
    static const char *const broken[] = {"work_("};
    struct live live;
    live_make(&live);
    live.options.functions = broken;
    CU_ASSERT_TRUE(refuses(&live, SPROF_EUSAGE, "work_("));
    live_make(&live);
    live.command[0] = "/nowhere/program";
    CU_ASSERT_TRUE(refuses(&live, SPROF_ENOCOMMAND, "/nowhere/program"));
    live_make(&live);
    live.options.output = "/nowhere/t.db";
    CU_ASSERT_NOT_EQUAL(live_open(&live), 0);
    CU_ASSERT_PTR_NULL(live.session);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.error.message, "/nowhere"));
    live_end(&live);
}

/* A process that was never there, and one that has ended but was not reaped. */
static void test_processes(void)
{
    struct live live;
    live_make(&live);
    live.options.pid = 0x3fffffff;
    CU_ASSERT_TRUE(refuses(&live, SPROF_ENOTFOUND, "1073741823"));
    const pid_t child = fork();
    if (!child)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    live_make(&live);
    live.options.pid = child;
    CU_ASSERT_NOT_EQUAL(live_open(&live), 0);
    CU_ASSERT_PTR_NULL(live.session);
    CU_ASSERT(*live.error.message);
    live_end(&live);
    waitpid(child, NULL, 0);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* It must not run out of descriptors later, so it counts them first; the message names how many. */
static void test_descriptors(void)
{
    struct rlimit before, less;
    struct live live;
    live_make(&live);
    const size_t open_ones = count_descriptors();
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    must(!getrlimit(RLIMIT_NOFILE, &before));
    less = before;
    less.rlim_cur = (rlim_t)next + 3;
    must(!setrlimit(RLIMIT_NOFILE, &less));
    const int result = live_open(&live);
    must(!setrlimit(RLIMIT_NOFILE, &before));
    CU_ASSERT_EQUAL(result, SPROF_ELIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.error.message, "more descriptors"));
    CU_ASSERT_PTR_NOT_NULL(strstr(live.error.message, "raise `ulimit -n` by "));
    CU_ASSERT_EQUAL(count_descriptors(), open_ones - 1); /* live_open has closed one */
    live_end(&live);
}

/* A command that was never started does not outlive its session. */
static void test_free(void)
{
    struct live live;
    int32_t value;
    trace_free(NULL);
    live_make(&live);
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    CU_ASSERT(live.program.pid > 0);
    CU_ASSERT_EQUAL(kill(live.program.pid, 0), 0);
    trace_free(live.session);
    live.session = NULL;
    CU_ASSERT_NOT_EQUAL(kill(live.program.pid, 0), 0);
    CU_ASSERT_EQUAL(recv(live.program.orders, &value, sizeof value, 0), 0);
    live_end(&live);
}

/* A running process: its command line is noted, and it goes on after the trace. */
static void test_running(void)
{
    struct live live;
    struct live_program program;
    live_make(&live);
    live_program_start(&program);
    live.options.command = NULL;
    live.options.pid = program.pid;
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    live_run(&live);
    CU_ASSERT_EQUAL(live_answer(&program), program.pid);
    live_order(&program, (struct order){ORDER_CALLS, WORK_BETA, 8, 1000});
    CU_ASSERT_TRUE(live_answers(&live, "end", "the trace ends"));
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_EQUAL(live_order(&program, (struct order){ORDER_CALLS, WORK_BETA, 80, 1000}), 0);
    CU_ASSERT_TRUE(made_said(&live, "3 probes are in process "));
    CU_ASSERT_FALSE(live.result.has_wait_status);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_beta|8");
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT command LIKE '" TRACE_COUNTS_ITSELF " %', wait_status FROM run"),
        "1|-1");
    live_program_end(&program);
    live_end(&live);
}

/* Two runs of one recording, each with its own calls. */
static void test_append(void)
{
    struct live live;
    char path[sizeof live.place.path];
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 3, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    snprintf(path, sizeof path, "%s", live.place.path);
    struct live second;
    live_make(&second);
    second.options.output = path;
    second.options.append = true;
    CU_ASSERT_EQUAL_FATAL(live_open(&second), 0);
    live_run(&second);
    live_call(&second, WORK_ALPHA, 40, 1000);
    CU_ASSERT_EQUAL(live_quit(&second, 0), 0);
    CU_ASSERT_EQUAL(second.result.run_id, 2);
    CU_ASSERT_EQUAL(second.result.calls, 40);
    live_end(&second);
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT run_id, calls FROM v_call_stats ORDER BY run_id"), "1|3 2|40");
    live_end(&live);
}

void sprof_suite_trace_session(void);

void sprof_suite_trace_session(void)
{
    CU_pSuite suite = CU_add_suite("trace/session", NULL, NULL);
    CU_add_test(suite, "options", test_options);
    CU_add_test(suite, "processes", test_processes);
    CU_add_test(suite, "descriptors", test_descriptors);
    CU_add_test(suite, "the end without a start", test_free);
    CU_add_test(suite, "a running process", test_running);
    CU_add_test(suite, "a second run", test_append);
}
