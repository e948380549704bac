/* Counts of a second's calls, in which threads take part that have read the clock in another order. */
#include "agent/probe_keep.h"

#include <CUnit/CUnit.h>

enum { SECOND = 1000 };

static uint32_t count_of(uint64_t before)
{
    return (uint32_t)before;
}

static void test_seconds_begin_anew(void)
{
    static const struct probe_keep keep = {.second_ticks = SECOND};
    uint64_t before = 0;
    for (uint32_t i = 1; i <= 3; i++) {
        before = probe_keep_count(&keep, before, 7 * SECOND + i);
        CU_ASSERT_EQUAL(count_of(before), i);
    }
    before = probe_keep_count(&keep, before, 8 * SECOND);
    CU_ASSERT_EQUAL(count_of(before), 1);
    before = probe_keep_count(&keep, before, 100 * SECOND);
    CU_ASSERT_EQUAL(count_of(before), 1);
}

static void test_late_threads_count_in_the_newer_second(void)
{
    static const struct probe_keep keep = {.second_ticks = SECOND};
    uint64_t before = probe_keep_count(&keep, 0, 8 * SECOND);
    for (uint32_t i = 2; i < 20; i++) {
        before = probe_keep_count(&keep, before, i % 2 ? 8 * SECOND : 8 * SECOND - 1);
        CU_ASSERT_EQUAL(count_of(before), i);
    }
}

void sprof_suite_agent_keep_count(void);

void sprof_suite_agent_keep_count(void)
{
    CU_pSuite suite = CU_add_suite("agent/keep_count", NULL, NULL);
    CU_ADD_TEST(suite, test_seconds_begin_anew);
    CU_ADD_TEST(suite, test_late_threads_count_in_the_newer_second);
}
