/* Figures that a flush writes and a clear drops, and when the next flush is due. */
#include "tests/unit/trace/made.h"

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};
static struct plan_function functions[2];

static void begin(struct made *made)
{
    made_begin_with(made, &in_memory, functions, 2);
    made->session.run->start_monotonic_ns = sprof_clock_monotonic_ns();
    made->session.times.start.ns = made->session.run->start_monotonic_ns;
    made->trace.own_cpu_start_ns = sprof_clock_own_cpu_ns();
}

/* Duration and CPU times count from the last clear on. */
static void test_account(void)
{
    struct made made;
    begin(&made);
    const struct store_run *run = made.session.run;
    made.session.run->start_monotonic_ns = 1000;
    made.session.times.now_ns = 5000;
    trace_account(&made.session, 700);
    CU_ASSERT_EQUAL(run->duration_ns, 4000);
    CU_ASSERT_EQUAL(run->target_cpu_ns, 700);
    made.session.times.cleared.ns = 4500;
    made.trace.cleared_cpu_ns = 600;
    trace_account(&made.session, 700);
    CU_ASSERT_EQUAL(run->duration_ns, 500);
    CU_ASSERT_EQUAL(run->target_cpu_ns, 100);
    trace_account(&made.session, 500); /* a process that ended is counted no more */
    CU_ASSERT_EQUAL(run->target_cpu_ns, 0);
    made.trace.own_cpu_start_ns = 0;
    trace_account(&made.session, 500);
    const uint64_t since_begin_ns = run->own_cpu_ns;
    made.trace.own_cpu_start_ns = sprof_clock_own_cpu_ns();
    trace_account(&made.session, 500);
    CU_ASSERT(run->own_cpu_ns < since_begin_ns);
    made_end(&made);
}

/* A flush follows the last one by a second, or by twenty times its length. */
static void test_next_flush(void)
{
    struct made made;
    begin(&made);
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(trace_flush(&made.session, NULL), 0);
    const uint64_t now_ns = sprof_clock_monotonic_ns(),
                   took_ns = now_ns - begun_ns > 50000000 ? now_ns - begun_ns : 50000000;
    CU_ASSERT(made.trace.next_flush_ns >= begun_ns + 1000000000 - took_ns);
    CU_ASSERT(made.trace.next_flush_ns <= now_ns + 20 * took_ns);
    CU_ASSERT(made.session.times.now_ns >= begun_ns);
    made_end(&made);
}

/* Calls of functions are read, once each. */
static void test_counts(void)
{
    struct made made;
    begin(&made);
    *made_stat(&made, 0) = (struct probe_stat){.calls = 5, .ended = 4, .self = 40, .total = 40};
    *made_stat(&made, 1) = (struct probe_stat){.counted = 3};
    for (uint32_t i = 0; i < 2; i++) /* it stands in no module: its rows have a node of the test */
        made.session.probes.items[i].node = 1 + i;
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(trace_collect_program(&made.session, CALLS_COLLECT_ALL), 0);
    struct calls_sums sums = {0};
    calls_add_up(&made.session.calls, &sums);
    CU_ASSERT_EQUAL(sums.calls + sums.unplaced_calls, 8);
    made_end(&made);
}

/* Sums of programs that have ended are dropped, too, and shares begin anew. */
static void test_clear(void)
{
    struct made made;
    begin(&made);
    made.trace.ended.calls = (struct calls_sums){.calls = 9, .in_flight = 2};
    made.trace.ended.cpu_ns = 12345;
    made.session.probes.items[0].sums.calls = 8;
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(trace_clear(&made.session), 0);
    CU_ASSERT_EQUAL(made.trace.ended.calls.calls, 0);
    CU_ASSERT_EQUAL(made.trace.ended.calls.in_flight, 0);
    CU_ASSERT_EQUAL(made.session.probes.items[0].sums.calls, 0);
    CU_ASSERT(made.trace.cleared_cpu_ns >= 12345);
    CU_ASSERT(made.session.times.cleared.ns >= begun_ns);
    CU_ASSERT(atomic_load(&made.session.process.shared->cleared) > 0);
    trace_account(&made.session, made.trace.cleared_cpu_ns);
    CU_ASSERT_EQUAL(made.session.run->target_cpu_ns, 0);
    made_end(&made);
}

void sprof_suite_trace_flush(void);

void sprof_suite_trace_flush(void)
{
    CU_pSuite suite = CU_add_suite("trace/flush", NULL, NULL);
    CU_add_test(suite, "the run's times", test_account);
    CU_add_test(suite, "the next flush", test_next_flush);
    CU_add_test(suite, "counts", test_counts);
    CU_add_test(suite, "clear", test_clear);
}
