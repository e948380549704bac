/* Whole traces through a back end that only tests use. Their figures are those that the program
 * wrote. */
#include "tests/unit/trace/live.h"
#include "tests/unit/trace/self_counting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct order open_alpha = {ORDER_OPEN, WORK_ALPHA, 1, 0};

/* Calls, times, open calls, and what is not called. */
static void test_figures(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 100, 1000);
    live_call(&live, WORK_BETA, 10, 20000);
    live_order(&live.program, open_alpha);
    CU_ASSERT_EQUAL(live_quit(&live, 7), 0);
    CU_ASSERT_TRUE(live.result.has_wait_status);
    CU_ASSERT_EQUAL(WEXITSTATUS(live.result.wait_status), 7);
    CU_ASSERT_EQUAL(live.result.calls, 111);
    CU_ASSERT_EQUAL(live.result.in_flight, 1);
    CU_ASSERT_EQUAL(live.result.probes, 3);
    CU_ASSERT_EQUAL(live.result.entry_only, 0);
    CU_ASSERT_FALSE(live.result.is_unreliable);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|101 work_beta|10");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT in_flight FROM v_call_stats WHERE function = "
                                             "'work_alpha'"),
                           "1");
    /* beta's calls take twenty times as long; all of an average is its minimum and maximum */
    CU_ASSERT_STRING_EQUAL(live_query(&live,
                                      "SELECT abs(b.total_ns - 2 * a.total_ns) <= 2, "
                                      "abs(b.average_ns - 20 * a.average_ns) <= 20, a.self_ns - "
                                      "a.total_ns, a.max_ns - a.min_ns FROM v_call_stats a, "
                                      "v_call_stats b WHERE a.function = "
                                      "'work_alpha' AND b.function = 'work_beta'"),
                           "1|1|0|0");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT function FROM v_probe WHERE uncalled"),
                           "work_gamma");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT state, source, mode, wait_status >> 8 FROM "
                                             "v_run"),
                           "complete|counts itself|full|7");
    live_end(&live);
}

static void test_pauses(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 5, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "stop", "no calls are being measured"));
    live_call(&live, WORK_ALPHA, 50, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "status", "paused, tracing for "));
    CU_ASSERT_TRUE(live_answers(&live, "start", "calls are being measured"));
    live_call(&live, WORK_ALPHA, 500, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "mark half", "marked: half"));
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.calls, 505);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|505");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT paused, mark FROM v_phase ORDER BY phase_id"),
                           "0|- 1|- 0|- 0|half");
    live_end(&live);
}

/* What was before is dropped; a call that was open belongs to the time after it. */
static void test_clear(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_BETA, 5, 1000);
    live_order(&live.program, open_alpha);
    CU_ASSERT_TRUE(live_answers(&live, "clear", "is dropped"));
    live_call(&live, WORK_GAMMA, 3, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "status", "tracing for "));
    CU_ASSERT_TRUE(strstr(live.answer.text, " 4 calls, 1 in flight, 3 of 3 probes on") != NULL);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.calls, 4);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|1 work_gamma|3");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT count(*) FROM v_phase"), "1");
    live_end(&live);
}

/* First calls in coverage, and figures in stats, of one run. */
static void test_modes(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 4, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "mode coverage", "mode coverage"));
    live_call(&live, WORK_BETA, 9, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "status", "1 function called, 0 probes removed"));
    CU_ASSERT_TRUE(live_answers(&live, "mode stats", "mode stats"));
    CU_ASSERT_TRUE(live_answers(&live, "mode stats", "mode stats, as before"));
    live_call(&live, WORK_ALPHA, 4, 1000);
    CU_ASSERT_TRUE(live_refuses(&live, "mode none", SPROF_EUSAGE, "`none` is no mode of traces"));
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|8");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT function FROM v_coverage WHERE executed"),
                           "work_beta");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT count(*) FROM v_phase WHERE paused"), "1");
    live_end(&live);
}

/* The result of a trace in mode coverage counts functions, not calls. */
static void test_coverage(void)
{
    struct live live;
    live_make(&live);
    live.options.mode = TRACE_COVERAGE;
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    live_run(&live);
    live_call(&live, WORK_BETA, 9, 1000);
    live_call(&live, WORK_GAMMA, 1, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.functions, 3);
    CU_ASSERT_EQUAL(live.result.covered, 2);
    CU_ASSERT_EQUAL(live.result.calls, 0);
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT function FROM v_coverage WHERE executed ORDER BY function"),
        "work_beta work_gamma");
    live_end(&live);
}

/* The program goes on, and its later calls are not counted. */
static void test_end(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 3, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "end", "the trace ends"));
    live_call(&live, WORK_ALPHA, 30, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 3), 0);
    CU_ASSERT_EQUAL(WEXITSTATUS(live.result.wait_status), 3);
    CU_ASSERT_EQUAL(live.result.calls, 3);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|3");
    live_end(&live);
}

static void test_detach(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 3, 1000);
    CU_ASSERT_TRUE(live_refuses(&live, "detach now", SPROF_EUSAGE, "was given `now`"));
    CU_ASSERT_TRUE(live_answers(&live, "detach", "the probes are out, and the trace ends"));
    live_call(&live, WORK_ALPHA, 30, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.calls, 3);
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT what, count(*) FROM v_probe_event WHERE function LIKE 'work_%' "
                          "GROUP BY what"),
        "in|3 out|3");
    live_end(&live);
}

/* A descriptor of the caller, or a time, ends the trace while the program goes on. */
static void test_ends_by_itself(void)
{
    for (int by_time = 0; by_time < 2; by_time++) {
        struct live live;
        int ends[2];
        live_make(&live);
        must(!pipe2(ends, O_CLOEXEC));
        live.options.end_fd = by_time ? -1 : ends[0];
        live.options.duration_ns = by_time ? 1 : 0;
        CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
        live_run(&live);
        live_call(&live, WORK_ALPHA, 2, 1000);
        close(ends[1]);
        while (live_control(&live, "status") == 0)
            usleep(1000);
        live_call(&live, WORK_ALPHA, 50, 1000);
        CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
        CU_ASSERT(live.result.calls == 2 || (by_time && live.result.calls < 2));
        live_end(&live);
        close(ends[0]);
    }
}

/* Nothing counts before the delay is over, or before a command ends it. */
static void test_begins_later(void)
{
    for (int by_command = 0; by_command < 2; by_command++) {
        struct live live;
        live_make(&live);
        live.options.delay_ns = by_command ? UINT64_C(3600000000000) : 50000000;
        CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
        live_run(&live);
        if (by_command) {
            live_call(&live, WORK_ALPHA, 1000, 1000);
            CU_ASSERT_TRUE(live_answers(&live, "start 1000000", "measured, for 0.001 s"));
        }
        while (live_control(&live, "status fields") == 0 && !by_command &&
               !strstr(live.answer.text, "tracing\t"))
            usleep(1000);
        while (by_command && live_control(&live, "status fields") == 0 &&
               !strstr(live.answer.text, "paused\t")) /* its time is over, too */
            usleep(1000);
        live_call(&live, WORK_BETA, 3, 1000);
        CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
        CU_ASSERT_EQUAL(live.result.calls, by_command ? 0 : 3);
        live_end(&live);
    }
}

/* The tracer stood still, so the agent switched probes off: that time is a pause. */
static void test_gap(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 2, 1000);
    live_order(&live.program, (struct order){.kind = ORDER_LEASE, .ticks = 1000});
    live_wait_said(&live, 1);
    live_call(&live, WORK_BETA, 2, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_TRUE(made_said(&live, "sprof stood still"));
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|2 work_beta|2");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT paused FROM v_phase ORDER BY phase_id"),
                           "0 1 0");
    live_end(&live);
}

/* A program in its place has no probes; what was called before that stays. */
static void test_executed(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 6, 1000);
    live_order(&live.program, (struct order){.kind = ORDER_REPLACE});
    live_wait_said(&live, 1);
    kill(live.program.pid, SIGKILL);
    CU_ASSERT_EQUAL(live_join(&live), 0);
    CU_ASSERT_TRUE(made_said(&live, "the command executed /"));
    CU_ASSERT_EQUAL(WTERMSIG(live.result.wait_status), SIGKILL);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|6");
    live_end(&live);
}

/* Without a function to probe, the command ends before its first order. */
static void test_nothing_chosen(void)
{
    static const char *const none[] = {"^work_delta$"};
    struct live live;
    live_make(&live);
    live.options.functions = none;
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    CU_ASSERT_EQUAL(trace_run(live.session, &live.result, &live.error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.error.message, "work_delta"));
    int32_t value;
    CU_ASSERT_EQUAL(recv(live.program.orders, &value, sizeof value, 0), 0); /* its end is closed */
    CU_ASSERT_NOT_EQUAL(access(live.place.path, F_OK), 0);                  /* no recording */
    live_end(&live);
}

static int fail_to_enter(struct trace_session *session, struct sprof_error *error)
{
    (void)session;
    return sprof_error_set(error, SPROF_ELIMIT, 0, "cannot enter");
}

/* A back end whose step fails ends the trace with its error, whichever step it is. */
static void test_steps_that_fail(void)
{
    const size_t steps[] = {
        offsetof(struct probe_backend, open),   offsetof(struct probe_backend, prepare),
        offsetof(struct probe_backend, expect), offsetof(struct probe_backend, meet),
        offsetof(struct probe_backend, number), offsetof(struct probe_backend, place)};
    enum { OF_OPEN = 2 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct probe_backend backend = probe_backend_self_counting;
        int (*step)(struct trace_session *, struct sprof_error *) = fail_to_enter;
        struct live live;
        memcpy((char *)&backend + steps[i], &step, sizeof step);
        live_make(&live);
        self_counting_use(&backend);
        CU_ASSERT_EQUAL(live_open(&live), i < OF_OPEN ? SPROF_ELIMIT : 0);
        if (live.session)
            CU_ASSERT_EQUAL(trace_run(live.session, &live.result, &live.error), SPROF_ELIMIT);
        CU_ASSERT_STRING_EQUAL(live.error.message, "cannot enter");
        CU_ASSERT_NOT_EQUAL(access(live.place.path, F_OK), 0);
        live_end(&live);
    }
}

void sprof_suite_trace_run(void);

void sprof_suite_trace_run(void)
{
    CU_pSuite suite = CU_add_suite("trace/run", NULL, NULL);
    CU_add_test(suite, "figures", test_figures);
    CU_add_test(suite, "pauses", test_pauses);
    CU_add_test(suite, "clear", test_clear);
    CU_add_test(suite, "modes", test_modes);
    CU_add_test(suite, "coverage", test_coverage);
    CU_add_test(suite, "end", test_end);
    CU_add_test(suite, "detach", test_detach);
    CU_add_test(suite, "a trace ends by itself", test_ends_by_itself);
    CU_add_test(suite, "a trace begins later", test_begins_later);
    CU_add_test(suite, "a gap", test_gap);
    CU_add_test(suite, "another program in its place", test_executed);
    CU_add_test(suite, "nothing chosen", test_nothing_chosen);
    CU_add_test(suite, "steps that fail", test_steps_that_fail);
}
