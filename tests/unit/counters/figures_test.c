/* Figures of one function, their sums, and their times. */
#include "tests/unit/counters/memory.h"

#include <string.h>

enum { FUNCTIONS = 10, FUNCTION = 4, BUCKET = 6 };

/* The offset in a slab of a function's bucket, as the agent notes it. */
static uint64_t bucket_of(uint32_t function, uint32_t bucket)
{
    return probe_stats_bytes(FUNCTIONS) + (function + 1) * sizeof(struct probe_histogram) +
           bucket * sizeof(uint32_t);
}

/* The call that ended last is in no bucket yet: it counts for its function alone, and in the bucket
 * itself once the thread has ended. */
static void test_pending(void)
{
    struct counters_pages pages = memory_make(1, FUNCTIONS);
    struct probe_stat *stats = counters_slab_stats(&pages, 0);
    stats[FUNCTION].calls = 2;
    stats[FUNCTIONS].pending = bucket_of(FUNCTION, BUCKET);
    uint32_t *bucket = (uint32_t *)((uint8_t *)stats + bucket_of(FUNCTION, BUCKET));
    *bucket = 1;
    struct counters_figures figures = counters_figures_read(&pages, stats, FUNCTION, true);
    CU_ASSERT_EQUAL(figures.stat.calls, 2);
    CU_ASSERT_EQUAL(figures.histogram.buckets[BUCKET], 2);
    CU_ASSERT_EQUAL(*bucket, 1);
    figures = counters_figures_read(&pages, stats, FUNCTION - 1, true);
    CU_ASSERT_EQUAL(figures.histogram.buckets[PROBE_BUCKETS - 1], 0);
    figures = counters_figures_read(&pages, stats, FUNCTION, false);
    CU_ASSERT_EQUAL(figures.histogram.buckets[BUCKET], 0);
    counters_slab_settle(&pages, 0);
    CU_ASSERT_EQUAL(*bucket, 2);
    counters_slab_settle(&pages, 0); /* once */
    CU_ASSERT_EQUAL(*bucket, 2);
    memory_release(&pages);
}

/* The program has written an offset that is no bucket's: nothing outside histograms changes. */
static void test_pending_elsewhere(void)
{
    static const uint64_t offsets[] = {0, 8, UINT64_MAX, UINT64_MAX - 3, 1};
    struct counters_pages pages = memory_make(1, FUNCTIONS);
    struct probe_stat *stats = counters_slab_stats(&pages, 0);
    const uint64_t bytes = probe_slab_bytes(FUNCTIONS), all = probe_stats_bytes(FUNCTIONS);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets + 2; i++) {
        const uint64_t offset = i < sizeof offsets / sizeof *offsets ? offsets[i]
                                : i & 1 ? all + probe_histograms_bytes(FUNCTIONS)
                                        : bucket_of(FUNCTION, BUCKET) + 1;
        stats[FUNCTIONS].pending = offset;
        counters_slab_settle(&pages, 0);
        CU_ASSERT_EQUAL(stats[FUNCTIONS].pending, all);
        stats[FUNCTIONS].pending = 0;
        for (uint64_t k = 0; k < bytes / 8; k++)
            if (((const uint64_t *)stats)[k])
                CU_FAIL_FATAL("a word was written");
    }
    memory_release(&pages);
}

/* All numbers of figures, each another one: from `base` on. */
static struct counters_figures numbered(uint64_t base)
{
    struct counters_figures figures;
    uint64_t words[sizeof figures.stat / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = base + i;
    memcpy(&figures.stat, words, sizeof figures.stat);
    for (uint32_t i = 0; i < PROBE_BUCKETS; i++)
        figures.histogram.buckets[i] = (uint32_t)base + i;
    return figures;
}

/* Every figure is added and subtracted; extremes are not. */
static void test_add_subtract(void)
{
    const struct counters_figures a = numbered(100), b = numbered(7000);
    struct counters_figures sum = a, back;
    counters_figures_add(&sum, &b);
    uint64_t words[sizeof a.stat / sizeof(uint64_t)];
    memcpy(words, &sum.stat, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t at = i * sizeof *words;
        const bool is_extreme =
            at == offsetof(struct probe_stat, max) || at == offsetof(struct probe_stat, min_mask);
        CU_ASSERT_EQUAL(words[i], is_extreme ? 7000 + i : 7100 + 2 * i);
    }
    CU_ASSERT_EQUAL(sum.histogram.buckets[9], 7100 + 18);
    back = sum;
    counters_figures_subtract(&back, &b);
    back.stat.max = a.stat.max;
    back.stat.min_mask = a.stat.min_mask;
    CU_ASSERT_EQUAL(memcmp(&back, &a, sizeof a), 0);
    back = b;
    counters_figures_add(&back, &a); /* the larger one stays */
    CU_ASSERT_EQUAL(back.stat.max, b.stat.max);
}

/* Numbers that cannot be are 0; extremes are checked where they are written. */
static void test_limit(void)
{
    struct counters_figures figures = numbered(100);
    figures.stat.self = -116;
    counters_figures_limit(&figures, 200);
    CU_ASSERT_EQUAL(figures.stat.calls, 100);
    CU_ASSERT_EQUAL(figures.stat.self, -116);
    CU_ASSERT_EQUAL(figures.stat.unlogged, 115);
    counters_figures_limit(&figures, 99);
    figures.stat.max = figures.stat.min_mask = 0;
    const struct probe_stat none = {0};
    CU_ASSERT_EQUAL(memcmp(&figures.stat, &none, sizeof none), 0);
    CU_ASSERT_EQUAL(counters_limit_time(INT64_MIN, INT64_MAX), 0);
    CU_ASSERT_EQUAL(counters_limit_time(-5, 5), -5);
    CU_ASSERT_EQUAL(counters_limit_time(-6, 5), 0);
}

/* Of three open calls of a function two began in another one. */
static void test_cleared(void)
{
    struct counters_figures figures = {
        .stat = {.calls = 10, .ended = 7, .recursive = 4, .self = 50, .counted = 2}};
    struct counters_figures base = counters_figures_cleared(&figures);
    counters_figures_subtract(&figures, &base);
    CU_ASSERT_EQUAL(figures.stat.calls, 3);
    CU_ASSERT_EQUAL(figures.stat.recursive, 2);
    CU_ASSERT_EQUAL(figures.stat.ended, 0);
    CU_ASSERT_EQUAL(figures.stat.self, 0);
    CU_ASSERT_EQUAL(figures.stat.counted, 0);
}

static void test_outermost(void)
{
    CU_ASSERT_EQUAL(counters_outermost(&(struct probe_stat){.calls = 5, .ended = 5}), 5);
    CU_ASSERT_EQUAL(
        counters_outermost(&(struct probe_stat){.calls = 5, .ended = 5, .recursive = 3}), 2);
    /* fact(3) stands in the second of three open calls */
    CU_ASSERT_EQUAL(
        counters_outermost(&(struct probe_stat){.calls = 7, .ended = 4, .recursive = 4}), 2);
    CU_ASSERT_EQUAL(counters_outermost(&(struct probe_stat){.ended = 1, .recursive = 9}), 0);
}

/* A function of 3 ended calls, with 2 timed and 5 counted calls below. */
static void test_raw(void)
{
    const struct probe_cost cost = {.inside = 10, .whole = 70, .count = 3};
    const struct probe_stat stat = {.calls = 3,
                                    .ended = 3,
                                    .self = 1000,
                                    .total = 4000,
                                    .probe_ticks = 150,
                                    .child_calls = 2,
                                    .child_counted = 5};
    CU_ASSERT_EQUAL(counters_raw_self(&stat, &cost), 1000 + 30 + 120 + 15);
    CU_ASSERT_EQUAL(counters_raw_total(&stat, &cost), 4000 + 150 + 30);
}

static void test_nanoseconds(void)
{
    CU_ASSERT_EQUAL(counters_nanoseconds(0, 0.25), 0);
    CU_ASSERT_EQUAL(counters_nanoseconds(1, 0.25), 1);
    CU_ASSERT_EQUAL(counters_nanoseconds(11, 0.25), 3); /* 2.75 */
    CU_ASSERT_EQUAL(counters_nanoseconds(UINT64_MAX, 4), UINT64_C(9000000000000000000));
    CU_ASSERT_EQUAL(counters_time(-3, 1), 0);
    CU_ASSERT_EQUAL(counters_time(12, 0.5), 6);
    CU_ASSERT_EQUAL(counters_single(0, 2), 2); /* a call takes time */
    CU_ASSERT_EQUAL(counters_single(3, 2), 6);
}

void sprof_suite_counters_figures(void);

void sprof_suite_counters_figures(void)
{
    CU_pSuite suite = CU_add_suite("counters/figures", NULL, NULL);
    CU_add_test(suite, "the call that ended last", test_pending);
    CU_add_test(suite, "an offset of no bucket", test_pending_elsewhere);
    CU_add_test(suite, "sums and differences", test_add_subtract);
    CU_add_test(suite, "numbers that cannot be", test_limit);
    CU_add_test(suite, "open calls at a clear", test_cleared);
    CU_add_test(suite, "outermost calls", test_outermost);
    CU_add_test(suite, "with the cost of probes", test_raw);
    CU_add_test(suite, "nanoseconds", test_nanoseconds);
}
