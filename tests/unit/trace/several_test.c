/* Several running processes in one trace: two programs that count their calls by themselves. */
#include "tests/unit/trace/live.h"
#include "tests/unit/trace/self_counting.h"
#include "trace/several.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum { PROGRAMS = 2 };
static struct live_program programs[PROGRAMS];
static pid_t others[PROGRAMS - 1];

static void make(struct live *live)
{
    live_make(live);
    for (size_t i = 0; i < PROGRAMS; i++)
        live_program_start(&programs[i]);
    others[0] = programs[1].pid;
    live->options.command = NULL;
    live->options.pid = programs[0].pid;
    live->options.others = others;
    live->options.other_count = 1;
}

static void run(struct live *live)
{
    live_run(live);
    for (size_t i = 0; i < PROGRAMS; i++)
        CU_ASSERT_EQUAL(live_answer(&programs[i]), programs[i].pid);
    CU_ASSERT_TRUE(
        live_answers(live, "status", ", 2 of 2 processes")); /* all measure from now on */
}

static void end(struct live *live)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        live_program_end(&programs[i]);
    live_end(live);
}

static void call(size_t program, uint32_t times)
{
    CU_ASSERT_EQUAL(
        live_order(&programs[program], (struct order){ORDER_CALLS, WORK_ALPHA, times, 1000}), 0);
}

#define CALLS_BY_PROCESS                                                                           \
    "SELECT calls FROM v_process_call WHERE function = 'work_alpha' ORDER BY calls"

/* Each process has its rows; one that is left goes on untraced, and the other one is traced on. */
static void test_processes(void)
{
    struct live live;
    char command[32];
    make(&live);
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    CU_ASSERT_TRUE(trace_is_of_several(live.session));
    run(&live);
    call(0, 3);
    call(1, 40);
    CU_ASSERT_TRUE(live_answers(&live, "status", ": 43 calls, 0 in flight, 6 of 6 probes on"));
    CU_ASSERT_TRUE(strstr(live.answer.text, ", 2 of 2 processes") != NULL);
    CU_ASSERT_TRUE(live_refuses(&live, "detach 1", SPROF_ESTATE, "process 1 is not traced here"));
    snprintf(command, sizeof command, "detach %d", (int)programs[0].pid);
    CU_ASSERT_TRUE(live_answers(&live, command, "and 1 other is traced on"));
    CU_ASSERT_TRUE(live_refuses(&live, command, SPROF_ESTATE, "is not traced here"));
    call(0, 100);
    call(1, 5);
    CU_ASSERT_TRUE(live_answers(&live, "detach", "out of all processes, and the trace ends"));
    call(1, 100);
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_EQUAL(live.result.calls, 48);
    CU_ASSERT_EQUAL(live.result.processes, 2);
    CU_ASSERT_EQUAL(live.result.probes, 6);
    CU_ASSERT_FALSE(live.result.has_wait_status);
    CU_ASSERT_STRING_EQUAL(live_query(&live, CALLS_BY_PROCESS), "3 45");
    end(&live);
}

/* Calls of a process that was killed stay, and the trace ends with the last one. */
static void test_killed(void)
{
    struct live live;
    make(&live);
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    run(&live);
    call(0, 3);
    call(1, 40);
    const unsigned said = atomic_load(&live.said_count);
    kill(programs[1].pid, SIGKILL);
    live_wait_said(&live, said + 1);
    call(0, 3);
    kill(programs[0].pid, SIGKILL);
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.log.said.text, " has ended; 1 of 2 are traced on"));
    CU_ASSERT_STRING_EQUAL(live_query(&live, CALLS_BY_PROCESS), "6 40");
    end(&live);
}

/* One that ended while the trace began is left out, with a warning. */
static void test_left_out(void)
{
    struct live live;
    make(&live);
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    kill(programs[1].pid, SIGKILL);
    siginfo_t ended;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)programs[1].pid, &ended, WEXITED | WNOWAIT), 0);
    live_run(&live);
    CU_ASSERT_EQUAL(live_answer(&programs[0]), programs[0].pid);
    CU_ASSERT_TRUE(live_answers(&live, "status", ", 1 of 2 processes"));
    call(0, 7);
    CU_ASSERT_TRUE(live_answers(&live, "end", "the trace ends"));
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.log.said.text, " is not traced: "));
    CU_ASSERT_STRING_EQUAL(live_query(&live, CALLS_BY_PROCESS), "7");
    end(&live);
}

/* All are traced, or none is: one that only the kernel could count refuses the others, too. */
static void test_refused(void)
{
    static const struct probe_backend of_kernel = {.source = "kernel"};
    struct live live;
    make(&live);
    self_counting_use(&of_kernel);
    CU_ASSERT_EQUAL(live_open(&live), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NULL(live.session);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.error.message, "none of the 2 processes is traced"));
    CU_ASSERT_NOT_EQUAL(access(live.place.path, F_OK), 0);
    end(&live);
}

void sprof_suite_trace_several(void);

void sprof_suite_trace_several(void)
{
    CU_pSuite suite = CU_add_suite("trace/several", NULL, NULL);
    CU_add_test(suite, "two processes", test_processes);
    CU_add_test(suite, "killed processes", test_killed);
    CU_add_test(suite, "a process that is left out", test_left_out);
    CU_add_test(suite, "a process that is refused", test_refused);
}
