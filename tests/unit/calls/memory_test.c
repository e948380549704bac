/* Figures beyond --memory: percentiles go first, then calls that need another page. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { FUNCTIONS = 2 };
#define PLENTY (UINT64_C(1) << 40)

struct bounded {
    struct made made;
    struct plan_function functions[FUNCTIONS];
};

static void make(struct bounded *bounded)
{
    static const char *const names[] = {"one", "two"};
    made_begin(&bounded->made, &in_memory, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        bounded->functions[i] = (struct plan_function){.name = names[i], .start = 0x100 * (i + 1)};
    made_file(&bounded->made, "/app/program", 0, bounded->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&bounded->made, (struct probing_probe){.function = &bounded->functions[i],
                                                          .tier = PROBE_FULL,
                                                          .is_chosen = i == 0});
    atomic_store(&bounded->made.session.process.shared->histograms, 1);
}

static bool is_sparing(const struct bounded *bounded)
{
    return atomic_load(&bounded->made.session.process.shared->extras) & PROBE_SPARE;
}

static void test_steps(void)
{
    static struct bounded bounded;
    make(&bounded);
    struct calls_program *session = &bounded.made.session;
    const struct probe_shared *shared = session->process.shared;
    session->options.memory = PLENTY;
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT(bounded.made.trace.memory.most_bytes > 0);
    CU_ASSERT_EQUAL(atomic_load(&shared->histograms), 1);
    CU_ASSERT_EQUAL(bounded.made.log.said.length, 0);

    session->options.memory = 1;
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_EQUAL(atomic_load(&shared->histograms), 0);
    CU_ASSERT_TRUE(made_said(&bounded.made, "percentiles are given up"));
    CU_ASSERT_FALSE(is_sparing(&bounded));

    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_TRUE(is_sparing(&bounded));
    CU_ASSERT_TRUE(made_said(&bounded.made, "call for the first time is only counted"));
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_EQUAL(bounded.made.log.said.length, 0);

    session->options.memory = PLENTY;
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_FALSE(is_sparing(&bounded));
    CU_ASSERT_TRUE(made_said(&bounded.made, "less than --memory allows again"));
    CU_ASSERT_EQUAL(atomic_load(&shared->histograms), 0); /* they do not come back */
    made_end(&bounded.made);
}

/* Pages that exist go on: what a thread has called before is timed as before. */
static void test_pages_that_exist(void)
{
    static struct bounded bounded;
    make(&bounded);
    struct calls_program *session = &bounded.made.session;
    made_stat(&bounded.made, 0)->calls = 1;
    session->options.memory = 1;
    session->memory.no_histograms = true;
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->pages.stats[0][0]) & 1, 1);
    session->options.memory = PLENTY;
    CU_ASSERT_EQUAL(calls_memory_serve(session), 0);
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->pages.stats[0][0]) & 1, 0);
    made_end(&bounded.made);
}

/* Calls without room are those of functions, in the row that threads share. */
static void test_beyond(void)
{
    static struct bounded bounded;
    make(&bounded);
    struct calls_program *session = &bounded.made.session;
    const struct calls_memory_sums *sums = &bounded.made.trace.memory;
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_PTR_NULL(session->memory.beyond); /* nothing has come: no room is made */
    CU_ASSERT_EQUAL_FATAL(calls_beyond_begin(session), 0);
    atomic_store(&session->process.shared->beyond[0], 5);
    atomic_store(&session->process.shared->beyond[1], 7); /* it was not chosen */
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_EQUAL(sums->beyond_calls, 5);
    CU_ASSERT_EQUAL(sums->beyond_functions, 1);
    CU_ASSERT_EQUAL(session->threads.others_figures[0].stat.counted, 5);
    atomic_store(&session->process.shared->beyond[0], 8);
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_EQUAL(sums->beyond_calls, 8);
    CU_ASSERT_EQUAL(sums->beyond_functions, 1);
    CU_ASSERT_EQUAL(recording_batch(session->recording)->probe_events.count, 1);
    atomic_store(&session->process.shared->beyond[0], 3); /* nothing that can be */
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_EQUAL(sums->beyond_calls, 8);
    made_end(&bounded.made);
}

static void test_beyond_cleared(void)
{
    static struct bounded bounded;
    make(&bounded);
    struct calls_program *session = &bounded.made.session;
    CU_ASSERT_EQUAL_FATAL(calls_beyond_begin(session), 0);
    atomic_store(&session->process.shared->beyond[0], 5);
    calls_beyond_clear(session);
    atomic_store(&session->process.shared->beyond[0], 6);
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_EQUAL(bounded.made.trace.memory.beyond_calls, 1);
    made_end(&bounded.made);
}

static void test_shared_threads(void)
{
    static struct bounded bounded;
    make(&bounded);
    struct calls_program *session = &bounded.made.session;
    atomic_store(&session->process.shared->sharing.threads, 1);
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_TRUE(made_said(&bounded.made, "calls of both are only counted"));
    CU_ASSERT_EQUAL(calls_beyond_collect(session), 0);
    CU_ASSERT_EQUAL(bounded.made.log.said.length, 0); /* it is reported once */
    made_end(&bounded.made);
}

void sprof_suite_calls_memory(void);

void sprof_suite_calls_memory(void)
{
    CU_pSuite suite = CU_add_suite("calls/memory", NULL, NULL);
    CU_add_test(suite, "step by step", test_steps);
    CU_add_test(suite, "pages that exist", test_pages_that_exist);
    CU_add_test(suite, "calls without room", test_beyond);
    CU_add_test(suite, "calls without room are cleared", test_beyond_cleared);
    CU_add_test(suite, "threads that share their data", test_shared_threads);
}
