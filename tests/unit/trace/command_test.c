/* Commands that control a trace, with their answers and refusals. */
#include "tests/unit/trace/live.h"

#include <stdio.h>

/* The column of the row that `status fields` or `list` answers with. */
static const char *field(const struct live *live, unsigned row, unsigned column)
{
    static char text[256];
    const char *at = live->answer.text ? live->answer.text : "";
    for (; row && *at; at++)
        row -= *at == '\n';
    for (; column && *at && *at != '\n'; at++)
        column -= *at == '\t';
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\t\n"), at);
    return text;
}

static void test_status(void)
{
    struct live live;
    char pid[16];
    live_begin(&live);
    live_call(&live, WORK_ALPHA, 4, 1000);
    live_order(&live.program, (struct order){ORDER_OPEN, WORK_BETA, 1, 0});
    CU_ASSERT_EQUAL(live_control(&live, "status fields"), 0);
    CU_ASSERT_STRING_EQUAL(field(&live, 0, 3), "in_flight#");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 0), "tracing");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 2), "5");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 3), "1");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 4), "3");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 5), "3");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 6), "stats");
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 7), ""); /* no end is set */
    snprintf(pid, sizeof pid, "%d", (int)live.program.pid);
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 8), pid);
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 10), pid);
    CU_ASSERT_TRUE(live_answers(&live, "status", ": 5 calls, 1 in flight, 3 of 3 probes on, mode"));
    CU_ASSERT_TRUE(live_refuses(&live, "status all", SPROF_EUSAGE, "was given `all`"));
    CU_ASSERT_TRUE(live_answers(&live, "start 3600000000000", "for 3600 s"));
    CU_ASSERT_EQUAL(live_control(&live, "status fields"), 0);
    const double left = strtod(field(&live, 1, 7), NULL);
    CU_ASSERT(left > 3000 && left <= 3600);
    CU_ASSERT_TRUE(live_answers(&live, "status", ", off in "));
    CU_ASSERT_TRUE(live_answers(&live, "start", "calls are being measured"));
    CU_ASSERT_EQUAL(live_control(&live, "status fields"), 0);
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 7), "");
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    live_end(&live);
}

/* Each is refused, and changes nothing. */
static void test_refused(void)
{
    static const struct {
        const char *command, *part;
    } cases[] = {
        {"start stats coverage", "one mode and one time, but was given another mode"},
        {"start 1000 2000", "was given another time"},
        {"start soon", "`soon` is neither a mode of traces"},
        {"mode", "mode"},
        {"mode STATS", "`STATS` is no mode of traces"},
        {"probe work_alpha", "work_alpha"},
        {"probe +(", "("},
        {"keep maybe", "maybe"},
        {"rate 99", "rate is for recordings of samples"},
        {"detach -1", "was given `-1`"},
    };
    struct live live;
    live_begin(&live);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_TRUE(live_refuses(&live, cases[i].command, SPROF_EUSAGE, cases[i].part));
    live_call(&live, WORK_ALPHA, 4, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "status",
                                ": 4 calls, 0 in flight, 3 of 3 probes on, mode "
                                "stats"));
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT count(*) FROM v_phase"), "1");
    live_end(&live);
}

/* Probes go off and on by ranges, whose sums `list` shows. */
static void test_ranges(void)
{
    struct live live;
    live_begin(&live);
    CU_ASSERT_TRUE(live_answers(&live, "probe -work_(alpha|beta)", "1 probe is on"));
    for (int function = 0; function < WORK_FUNCTIONS; function++)
        live_call(&live, (enum order_function)function, 2, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "probe +work_beta", "2 probes are on"));
    for (int function = 0; function < WORK_FUNCTIONS; function++)
        live_call(&live, (enum order_function)function, 20, 1000);
    CU_ASSERT_EQUAL(live_control(&live, "list"), 0);
    CU_ASSERT_STRING_EQUAL(field(&live, 0, 8), "range");
    CU_ASSERT_STRING_EQUAL(field(&live, 2, 8), "-work_(alpha|beta)");
    CU_ASSERT_STRING_EQUAL(field(&live, 2, 2), "2");
    CU_ASSERT_STRING_EQUAL(field(&live, 2, 3), "1");
    CU_ASSERT_STRING_EQUAL(field(&live, 2, 6), "20");
    CU_ASSERT_STRING_EQUAL(field(&live, 3, 8), "+work_beta");
    CU_ASSERT_STRING_EQUAL(field(&live, 3, 2), "1");
    CU_ASSERT_STRING_EQUAL(field(&live, 3, 4), "1");
    CU_ASSERT_TRUE(live_answers(&live, "probe -#1", "probe"));
    CU_ASSERT_EQUAL(live_control(&live, "list"), 0);
    CU_ASSERT_STRING_EQUAL(field(&live, 1, 1), "off");
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_beta|20 work_gamma|22");
    CU_ASSERT_STRING_EQUAL(
        live_query(&live, "SELECT text, functions FROM v_selection WHERE text LIKE '%work_%' AND "
                          "cause = 'command' ORDER BY start_ns"),
        "-work_(alpha|beta)|2 +work_beta|1");
    live_end(&live);
}

/* `stats` writes what was called, so another process can read it while the trace goes on. */
static void test_stats(void)
{
    struct live live;
    live_begin(&live);
    live_call(&live, WORK_GAMMA, 12, 1000);
    CU_ASSERT_EQUAL(live_control(&live, "stats"), 0);
    CU_ASSERT_EQUAL(live.answer.length, 0);
    CU_ASSERT_EQUAL_FATAL(store_open_copy(&live.store, live.place.path, NULL), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT sum(calls) FROM call_cost"), "12");
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    live_end(&live);
}

/* A rule for kept calls is in force from then on, also beside the log, until it is taken back. */
static void test_keep(void)
{
    struct live live;
    live_begin(&live);
    CU_ASSERT_EQUAL(live_control(&live, "keep over 1ms: work_alpha"), 0);
    CU_ASSERT_TRUE(live_answers(&live, "keep", "over 1ms: work_alpha"));
    CU_ASSERT_EQUAL(live_control(&live, "mode log"), 0);
    CU_ASSERT_TRUE(live_answers(&live, "status", "mode log"));
    CU_ASSERT_EQUAL(live_control(&live, "keep -#1"), 0);
    CU_ASSERT_TRUE(live_refuses(&live, "keep -#1", SPROF_EUSAGE, "1"));
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_EQUAL(live.result.kept, 0);
    live_end(&live);
}

/* Only a drill-down can be widened, or reads its file again. */
static void test_without_drill_down(void)
{
    struct live live;
    live_begin(&live);
    CU_ASSERT_NOT_EQUAL(live_control(&live, "widen"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(live.answer.text, "adaptive"));
    CU_ASSERT_NOT_EQUAL(live_control(&live, "reload"), 0);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    live_end(&live);
}

/* It begins off, and without its socket it could never be switched on. */
static void test_paused(void)
{
    struct live live;
    live_make(&live);
    live.options.paused = true;
    CU_ASSERT_EQUAL_FATAL(live_open(&live), 0);
    live_run(&live);
    live_call(&live, WORK_ALPHA, 7, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "on", "calls are being measured"));
    live_call(&live, WORK_ALPHA, 70, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "off", "no calls are being measured"));
    CU_ASSERT_TRUE(live_answers(&live, "off", "no calls are being measured")); /* twice is once */
    live_call(&live, WORK_ALPHA, 700, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, LIVE_CALLS), "work_alpha|70");
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT paused FROM v_phase ORDER BY phase_id"),
                           "1 0 1");
    live_end(&live);
}

/* A mode and a time of one command, in any order. */
static void test_start_in_mode(void)
{
    struct live live;
    live_begin(&live);
    CU_ASSERT_TRUE(live_answers(&live, "stop", "goes on"));
    CU_ASSERT_TRUE(live_answers(&live, "start 3600000000000 coverage", "for 3600 s"));
    live_call(&live, WORK_GAMMA, 5, 1000);
    CU_ASSERT_TRUE(live_answers(&live, "status", "mode coverage, 1 function called"));
    CU_ASSERT_TRUE(live_answers(&live, "probe -work_beta", "probes are on"));
    CU_ASSERT_TRUE(live_answers(&live, "clear", "is dropped"));
    CU_ASSERT_TRUE(live_answers(&live, "status", "mode coverage, 0 functions called"));
    live_call(&live, WORK_BETA, 5, 1000);
    live_call(&live, WORK_ALPHA, 5, 1000);
    CU_ASSERT_EQUAL(live_quit(&live, 0), 0);
    CU_ASSERT_STRING_EQUAL(live_query(&live, "SELECT function FROM v_coverage WHERE executed"),
                           "work_alpha");
    live_end(&live);
}

void sprof_suite_trace_command(void);

void sprof_suite_trace_command(void)
{
    CU_pSuite suite = CU_add_suite("trace/command", NULL, NULL);
    CU_add_test(suite, "status", test_status);
    CU_add_test(suite, "refused commands", test_refused);
    CU_add_test(suite, "ranges", test_ranges);
    CU_add_test(suite, "stats", test_stats);
    CU_add_test(suite, "rules for kept calls", test_keep);
    CU_add_test(suite, "no drill-down", test_without_drill_down);
    CU_add_test(suite, "a trace that starts paused", test_paused);
    CU_add_test(suite, "start in a mode", test_start_in_mode);
}
