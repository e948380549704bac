#include "tests/unit/trace/live.h"

#include "tests/unit/trace/self_counting.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { ANSWER_S = 60 }; /* a busy machine; a test never waits so long unless it fails */

/* Returns the program's end, which it inherits. */
static int make_orders(struct live_program *program, char number[16])
{
    const struct timeval patience = {.tv_sec = ANSWER_S};
    int ends[2];
    must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    fcntl(ends[1], F_SETFD, 0);
    snprintf(number, 16, "%d", ends[1]);
    program->orders = ends[0];
    return ends[1];
}

static void note(void *context, enum sprof_log_level level, const char *text)
{
    struct live *live = context;
    made_note(&live->log.said, level, text);
    atomic_fetch_add(&live->said_count, 1);
}

void live_wait_said(struct live *live, unsigned count)
{
    for (int i = 0; i < 1000 * ANSWER_S && atomic_load(&live->said_count) < count; i++)
        usleep(1000);
    CU_ASSERT(atomic_load(&live->said_count) >= count);
}

void live_make(struct live *live)
{
    static const char *const functions[] = {"^work_"};
    *live = (struct live){.counting = {note, NULL, live}, .place = place_make()};
    live->theirs = make_orders(&live->program, live->number);
    live->command[0] = TRACE_COUNTS_ITSELF;
    live->command[1] = live->number;
    live->options = (struct trace_options){.command = live->command,
                                           .end_fd = -1,
                                           .functions = functions,
                                           .function_count = 1,
                                           .output = live->place.path,
                                           .no_cache = true,
                                           .no_outside = true,
                                           .no_states = true,
                                           .sprof_version = "test",
                                           .log = &live->counting};
    self_counting_use(&probe_backend_self_counting);
}

int live_open(struct live *live)
{
    const int result = trace_open(&live->session, &live->options, &live->error);
    inject_close(&live->theirs); /* the command has it */
    if (!result)
        live->program.pid = trace_command_pid(live->session);
    return result;
}

static void *run(void *context)
{
    struct live *live = context;
    live->ran = trace_run(live->session, &live->result, &live->error);
    return NULL;
}

static void begin_run(struct live *live)
{
    must(!pthread_create(&live->runner, NULL, run, live));
    live->has_runner = true;
}

void live_run(struct live *live)
{
    begin_run(live);
    if (!live->options.pid)
        CU_ASSERT_EQUAL(live_answer(&live->program), live->program.pid);
}

void live_begin(struct live *live)
{
    live_make(live);
    CU_ASSERT_EQUAL_FATAL(live_open(live), 0);
    live_run(live);
}

int32_t live_answer(const struct live_program *program)
{
    int32_t value = -1;
    CU_ASSERT_EQUAL(recv(program->orders, &value, sizeof value, 0), sizeof value);
    return value;
}

int32_t live_order(const struct live_program *program, struct order order)
{
    CU_ASSERT_EQUAL(send(program->orders, &order, sizeof order, MSG_NOSIGNAL), sizeof order);
    return order.kind == ORDER_QUIT || order.kind == ORDER_REPLACE ? 0 : live_answer(program);
}

void live_call(struct live *live, enum order_function function, uint32_t times, uint32_t ticks)
{
    CU_ASSERT_EQUAL(live_order(&live->program, (struct order){ORDER_CALLS, function, times, ticks}),
                    0);
}

int live_control(struct live *live, const char *command)
{
    struct sprof_error error = {0};
    sprof_str_release(&live->answer);
    const int result =
        control_send(live->options.output, CONTROL_NAMED, command, &live->answer, &error);
    if (result)
        sprof_str_append(&live->answer, error.message);
    return result;
}

static bool answer_has(const struct live *live, const char *part)
{
    const bool has = live->answer.text && strstr(live->answer.text, part);
    if (!has)
        fprintf(stderr, "\nno \"%s\" in: %s\n", part, live->answer.text ? live->answer.text : "");
    return has;
}

bool live_refuses(struct live *live, const char *command, int code, const char *part)
{
    return live_control(live, command) == code && answer_has(live, part);
}

bool live_answers(struct live *live, const char *command, const char *part)
{
    return live_control(live, command) == 0 && answer_has(live, part);
}

int live_join(struct live *live)
{
    pthread_join(live->runner, NULL);
    live->has_runner = false;
    return live->ran;
}

int live_quit(struct live *live, int status)
{
    live_order(&live->program, (struct order){.kind = ORDER_QUIT, .times = (uint32_t)status});
    return live_join(live);
}

const char *live_query(struct live *live, const char *sql)
{
    struct sprof_error error = {0};
    if (!live->store && store_open_read(&live->store, live->place.path, &error)) {
        fprintf(stderr, "\n%s\n", error.message);
        return "no recording";
    }
    return query_text(live->store, sql);
}

void live_end(struct live *live)
{
    inject_close(&live->program.orders); /* the program ends, if it did not */
    if (live->has_runner)
        live_join(live);
    trace_free(live->session);
    if (live->store)
        store_close(live->store, NULL);
    inject_close(&live->theirs);
    place_remove(&live->place);
    sprof_str_release(&live->answer);
    sprof_str_release(&live->log.said);
    self_counting_use(NULL);
}

/* == Running processes == */

void live_program_start(struct live_program *program)
{
    char number[16], agent[16];
    int ends[2], executed[2];
    const int theirs = make_orders(program, number);
    must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    must(!pipe2(executed, O_CLOEXEC));
    snprintf(agent, sizeof agent, "%d", ends[1]);
    program->pid = fork();
    must(program->pid >= 0);
    if (!program->pid) {
        fcntl(ends[1], F_SETFD, 0);
        setenv(PROBE_VARIABLE, agent, 1);
        execl(TRACE_COUNTS_ITSELF, TRACE_COUNTS_ITSELF, number, NULL);
        _exit(127);
    }
    close(theirs);
    close(ends[1]);
    close(executed[1]);
    must(!read(executed[0], number, 1)); /* it has the program's command line from here on */
    close(executed[0]);
    self_counting_meet(program->pid, ends[0]);
}

void live_program_end(struct live_program *program)
{
    inject_close(&program->orders);
    waitpid(program->pid, NULL, 0);
}
