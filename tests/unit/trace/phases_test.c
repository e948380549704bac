/* Phases of a run: their beginning, gaps, and switches of all programs. */
#include "tests/unit/trace/made.h"

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};
static struct plan_function functions[2];

static void begin(struct made *made)
{
    made_begin_with(made, &in_memory, functions, 2);
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&made->session.probing, NULL), 0);
    made->session.times.start.ns = made->session.run->start_monotonic_ns =
        sprof_clock_monotonic_ns();
}

static void test_begin(void)
{
    struct made made;
    begin(&made);
    made.trace.phase = 0;
    CU_ASSERT_EQUAL(trace_begin_first_phase(&made.session, NULL), 0);
    CU_ASSERT_EQUAL(made.trace.phase, 1);
    CU_ASSERT_EQUAL(made.session.times.now_ns, made.session.run->start_monotonic_ns);
    calls_take_time(&made.session.calls);
    CU_ASSERT_EQUAL(trace_begin_phase(&made.session, "later", NULL), 0);
    CU_ASSERT_EQUAL(made.trace.phase, 2);
    made_end(&made);
}

/* A gap is a phase of its own that lies in the past; then it goes on as before. */
static void test_gap(void)
{
    const uint64_t gaps_ns[] = {0, 1000, UINT64_MAX}; /* the last one would begin before the run */
    struct made made;
    begin(&made);
    for (size_t i = 0; i < sizeof gaps_ns / sizeof *gaps_ns; i++) {
        const uint32_t before = made.trace.phase;
        CU_ASSERT_EQUAL(trace_note_gap(&made.session, gaps_ns[i], NULL), 0);
        CU_ASSERT_EQUAL(made.trace.phase, before + 2);
        CU_ASSERT_FALSE(made.session.paused);
        CU_ASSERT(made.session.times.now_ns >= made.session.times.start.ns);
        CU_ASSERT(made.session.times.now_ns <= sprof_clock_monotonic_ns());
    }
    made_end(&made);
}

/* All programs measure, or none does. */
static void test_switch_all(void)
{
    struct made made, other;
    begin(&made);
    begin(&other);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.trace.programs, &other.session.probing), 0);
    made.session.paused = true;
    trace_switch_all(&made.session);
    CU_ASSERT_TRUE(other.session.paused);
    CU_ASSERT_EQUAL(made_tier(&made, 0), PROBE_OFF);
    CU_ASSERT_EQUAL(made_tier(&other, 1), PROBE_OFF);
    made.session.paused = false;
    trace_switch_all(&made.session);
    CU_ASSERT_FALSE(other.session.paused);
    CU_ASSERT_EQUAL(made_tier(&made, 0), PROBE_FULL);
    CU_ASSERT_EQUAL(made_tier(&other, 1), PROBE_FULL);
    made_end(&other);
    made_end(&made);
}

/* `mode` accepts these words, and the recording stores them. */
static void test_words(void)
{
    CU_ASSERT_STRING_EQUAL(trace_mode_words[TRACE_STATS], "stats");
    CU_ASSERT_STRING_EQUAL(trace_mode_words[TRACE_COVERAGE], "coverage");
    CU_ASSERT_STRING_EQUAL(trace_mode_words[TRACE_LOG], "log");
    CU_ASSERT_PTR_NULL(trace_mode_words[TRACE_LOG + 1]);
}

void sprof_suite_trace_phases(void);

void sprof_suite_trace_phases(void)
{
    CU_pSuite suite = CU_add_suite("trace/phases", NULL, NULL);
    CU_add_test(suite, "the beginning", test_begin);
    CU_add_test(suite, "a gap", test_gap);
    CU_add_test(suite, "all programs", test_switch_all);
    CU_add_test(suite, "words", test_words);
}
