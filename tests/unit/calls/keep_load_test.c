/* Rules of kept calls rest while the load is low, and only those that depend on it. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { FUNCTIONS = 2, SECOND = 1000000000 };

static struct made made;
static struct plan_function functions[FUNCTIONS];

static void begin(void)
{
    made_begin_with(&made, &in_memory, functions, FUNCTIONS);
    made.session.times.now_ns = 100 * (uint64_t)SECOND;
}

static void add_rule(enum rules_keep_load load, double over)
{
    const struct calls_rule rule = {.rule = {.load = load, .load_over = over, .quantile = 0.5}};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.trace.kept.rules, rule), 0);
}

static void end(void)
{
    calls_keep_forget_load(&made.session);
    sprof_vec_release(&made.trace.kept.rules);
    made_end(&made);
}

/* The rules that rest after so much time, a bit each. */
static uint64_t resting_after(uint64_t ns)
{
    made.session.times.now_ns += ns;
    calls_keep_check_load(&made.session);
    return atomic_load(&made.session.process.shared->keep.resting);
}

static void test_calls(void)
{
    begin();
    add_rule(RULES_LOAD_ANY, 0);
    add_rule(RULES_LOAD_CALLS, 100);
    CU_ASSERT_EQUAL(resting_after(0), 2); /* no rate is known yet */
    made.session.probes.items[0].sums.calls = 1000;
    CU_ASSERT_EQUAL(resting_after(SECOND / 10), 2); /* too soon for another look */
    CU_ASSERT_EQUAL(resting_after(SECOND), 0);
    made.session.probes.items[0].sums.calls = 1100;
    CU_ASSERT_EQUAL(resting_after(SECOND), 2); /* 100 are not above 100 */
    made.session.probes.items[0].sums.calls = 1201;
    CU_ASSERT_EQUAL(resting_after(SECOND), 0);
    made.session.probes.items[0].sums.calls = 5; /* a clear */
    CU_ASSERT_EQUAL(resting_after(SECOND), 2);
    end();
}

/* A rule that rests for another reason goes on resting. */
static void test_others(void)
{
    begin();
    add_rule(RULES_LOAD_ANY, 0);
    add_rule(RULES_LOAD_OPEN, 3);
    atomic_store(&made.session.process.shared->keep.resting, 1);
    CU_ASSERT_EQUAL(resting_after(0), 3);
    made.session.probes.items[0].sums.in_flight = 4;
    CU_ASSERT_EQUAL(resting_after(SECOND), 1);
    made.session.probes.items[0].sums.in_flight = 3;
    CU_ASSERT_EQUAL(resting_after(SECOND), 3);
    end();
}

/* Without a rule that depends on load, nothing is measured. */
static void test_no_load(void)
{
    begin();
    add_rule(RULES_LOAD_ANY, 0);
    made.session.probes.items[0].sums.calls = 50;
    CU_ASSERT_EQUAL(resting_after(SECOND), 0);
    CU_ASSERT_EQUAL(made.session.kept.ns, 0);
    CU_ASSERT_EQUAL(made.session.kept.calls, 0);
    end();
}

/* The memory of this process is more than a byte, and less than an exabyte. */
static void test_memory(void)
{
    begin();
    add_rule(RULES_LOAD_RSS, 1);
    add_rule(RULES_LOAD_RSS, 1e18);
    CU_ASSERT_EQUAL(resting_after(0), 2);
    end();
}

/* Quantiles are of the rule's functions, and of calls since the last look; a few are none. */
static void test_quantile(void)
{
    begin();
    add_rule(RULES_LOAD_QUANTILE, 1000);
    struct probe_shared *shared = made.session.process.shared;
    const struct counters_pages pages = calls_pages(&made.session);
    uint8_t *stats = (uint8_t *)counters_slab_stats(&pages, 0);
    struct probe_histogram *own =
        (struct probe_histogram *)(stats + probe_stats_bytes(made.session.capacity) + sizeof *own);
    atomic_store(&shared->keep_of.masks[0], 1);
    made_stat(&made, 0)->calls = made_stat(&made, 0)->ended = 4;
    own[0].buckets[PROBE_BUCKETS - 1] = 4; /* very long */
    own[1].buckets[PROBE_BUCKETS - 1] = 9; /* of a function without the rule */
    made_stat(&made, 1)->calls = made_stat(&made, 1)->ended = 9;
    CU_ASSERT_EQUAL(resting_after(0), 1);
    own[0].buckets[PROBE_BUCKETS - 1] += 5;
    CU_ASSERT_EQUAL(resting_after(SECOND), 0);
    own[0].buckets[0] += 50; /* short ones: the half is below the limit */
    CU_ASSERT_EQUAL(resting_after(SECOND), 1);
    CU_ASSERT_EQUAL(resting_after(SECOND), 1); /* none at all */
    end();
}

void sprof_suite_calls_keep_load(void);

void sprof_suite_calls_keep_load(void)
{
    CU_pSuite suite = CU_add_suite("calls/keep_load", NULL, NULL);
    CU_add_test(suite, "calls per second", test_calls);
    CU_add_test(suite, "rules that rest for another reason", test_others);
    CU_add_test(suite, "no rule depends on load", test_no_load);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "quantiles", test_quantile);
}
