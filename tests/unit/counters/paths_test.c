/* Calls in paths, and in none. */
#include "counters/counters.h"

#include <CUnit/CUnit.h>

static void test_node(void)
{
    struct probe_node node = {.key = 1, .calls = 5, .ended = 4, .self = -3};
    struct counters_sum sum = counters_node_read(&node);
    CU_ASSERT_EQUAL(sum.calls, 5);
    CU_ASSERT_EQUAL(sum.ended, 4);
    CU_ASSERT_EQUAL(sum.self, -3);
    node.ended = 9; /* whatever the program has written */
    CU_ASSERT_EQUAL(counters_node_read(&node).calls, 9);
}

/* The function has 7 calls, its paths have 4: 3 are in none. Calls that come in paths meanwhile do
 * not lessen them. */
static void test_alone(void)
{
    const struct counters_sum seen = {.calls = 7, .ended = 6, .self = 600};
    struct counters_sum in_paths = {.calls = 4, .ended = 4, .self = 400}, alone = {0};
    struct probe_stat stat = {.calls = 7, .ended = 6, .self = 600};
    counters_sum_alone(&alone, &seen, &in_paths);
    CU_ASSERT_EQUAL(alone.calls, 3);
    counters_sum_replace(&stat, &in_paths, &alone);
    CU_ASSERT_EQUAL(stat.calls, 7);
    CU_ASSERT_EQUAL(stat.ended, 6);
    CU_ASSERT_EQUAL(stat.self, 600);
    counters_sum_add(&in_paths, &(struct counters_sum){.calls = 8, .ended = 9, .self = 800});
    counters_sum_alone(&alone, &seen, &in_paths);
    CU_ASSERT_EQUAL(alone.calls, 3);
    CU_ASSERT_EQUAL(alone.self, 200);
    counters_sum_replace(&stat, &in_paths, &alone);
    CU_ASSERT_EQUAL(stat.calls, 15);
    CU_ASSERT_EQUAL(stat.ended, 15); /* of 8 calls no more than 8 can have ended */
    CU_ASSERT_EQUAL(stat.self, 1400);
}

/* Times alone are none where all calls are in paths. */
static void test_none_alone(void)
{
    const struct counters_sum seen = {.calls = 4, .ended = 4, .self = 410};
    const struct counters_sum in_paths = {.calls = 4, .ended = 4, .self = 400};
    struct counters_sum alone = {0};
    counters_sum_alone(&alone, &seen, &in_paths);
    CU_ASSERT_EQUAL(alone.calls, 0);
    CU_ASSERT_EQUAL(alone.self, 0);
}

void sprof_suite_counters_paths(void);

void sprof_suite_counters_paths(void)
{
    CU_pSuite suite = CU_add_suite("counters/paths", NULL, NULL);
    CU_add_test(suite, "a node", test_node);
    CU_add_test(suite, "calls in no path", test_alone);
    CU_add_test(suite, "all calls in paths", test_none_alone);
}
