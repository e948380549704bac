/* The processor's counter beside the system's clock. */
#include "agent/probe.h"
#include "counters/counters.h"

#include <CUnit/CUnit.h>

#define SECOND UINT64_C(1000000000)

/* Both readings are of a moment between two others. */
static void test_read(void)
{
    const uint64_t ns_before = sprof_clock_monotonic_ns(), before = probe_ticks();
    uint64_t ns, ticks;
    counters_read_clocks(&ns, &ticks);
    CU_ASSERT(ns >= ns_before && ns <= sprof_clock_monotonic_ns());
    CU_ASSERT(ticks >= before && ticks <= probe_ticks());
}

/* A counter of 2 ticks a nanosecond that gains a part in a thousand: a comparison makes no step,
 * and the difference is gone a second later. */
static void test_drift(void)
{
    const struct counters_clock first = {.ticks = 500, .ns = 100, .ns_per_tick = 0.5};
    struct counters_clocks clocks = {0};
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 100, 500), 0);
    CU_ASSERT_EQUAL(counters_time_of(&clocks, 500), 100);
    CU_ASSERT_EQUAL(counters_time_of(&clocks, 502), 101);
    const uint64_t ticks = 500 + 2 * SECOND + 2 * SECOND / 1000;
    const uint64_t early = counters_time_of(&clocks, ticks - 1000);
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 100 + SECOND / 2, ticks / 2), 0);
    CU_ASSERT_EQUAL(clocks.list.count, 1); /* too early */
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 100 + SECOND, ticks), 0);
    CU_ASSERT_EQUAL(clocks.list.count, 2);
    CU_ASSERT_EQUAL(counters_time_of(&clocks, ticks - 1000), early);
    CU_ASSERT_EQUAL(counters_time_of(&clocks, ticks), 100 + SECOND + SECOND / 1000);
    const uint64_t later = counters_time_of(&clocks, ticks + 2 * SECOND);
    CU_ASSERT(later > 100 + 2 * SECOND - 10 && later < 100 + 2 * SECOND + 10);
    CU_ASSERT(counters_length_of(&clocks, 2000) < 1000);
    counters_clocks_release(&clocks);
}

/* Times before the first comparison, and those of a counter that jumps, are in order and above 0.
 */
static void test_impossible(void)
{
    const struct counters_clock first = {.ticks = 1000, .ns = 10, .ns_per_tick = 1};
    struct counters_clocks clocks = {0};
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 10, 1000), 0);
    CU_ASSERT_EQUAL(counters_time_of(&clocks, 0), 1);
    CU_ASSERT_EQUAL(counters_length_of(&clocks, 0), 1);
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 100 * SECOND, 1000 + SECOND), 0);
    CU_ASSERT_EQUAL(clocks.list.items[1].ns_per_tick, 1.5); /* at most half as fast again */
    CU_ASSERT_EQUAL(counters_clocks_compare(&clocks, &first, 101 * SECOND, 1001 + SECOND), 0);
    for (uint64_t i = 1; i < 100; i++)
        CU_ASSERT(counters_time_of(&clocks, i * SECOND / 40) <=
                  counters_time_of(&clocks, (i + 1) * SECOND / 40));
    counters_clocks_release(&clocks);
}

void sprof_suite_counters_clocks(void);

void sprof_suite_counters_clocks(void)
{
    CU_pSuite suite = CU_add_suite("counters/clocks", NULL, NULL);
    CU_add_test(suite, "one moment in both", test_read);
    CU_add_test(suite, "drift", test_drift);
    CU_add_test(suite, "times that cannot be", test_impossible);
}
