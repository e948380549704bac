/* The threshold of waits follows how many are kept, unless one was asked for. */
#include "sampler/off_cpu/threshold.h"

#include <CUnit/CUnit.h>

static const uint64_t ms = 1000000, begin_ns = 7000000000;

/* The threshold after a look each 250 ms for two seconds, with so many waits kept in each. */
static uint64_t after(struct off_cpu_threshold *threshold, uint64_t kept_each, uint64_t *now_ns)
{
    uint64_t kept = threshold->kept;
    for (int look = 0; look < 8; look++)
        off_cpu_threshold_govern(threshold, kept += kept_each, *now_ns += 250 * ms);
    return threshold->ns;
}

static void test_more_waits_raise_it(void)
{
    const struct sampler_options options = {.off_cpu.wanted = true};
    struct off_cpu_threshold threshold = off_cpu_threshold_of(&options);
    uint64_t now_ns = begin_ns;
    CU_ASSERT_EQUAL(threshold.ns, ms);
    CU_ASSERT_FALSE(off_cpu_threshold_govern(&threshold, 0, now_ns));
    CU_ASSERT_EQUAL(after(&threshold, 240, &now_ns), ms); /* 960 a second */
    CU_ASSERT_EQUAL(after(&threshold, 260, &now_ns), 256 * ms);
    CU_ASSERT_EQUAL(after(&threshold, 100, &now_ns), 256 * ms); /* neither many nor few */
    CU_ASSERT_EQUAL(after(&threshold, 20, &now_ns), ms);
    CU_ASSERT_EQUAL(after(&threshold, 1000000, &now_ns), 256 * ms);
    CU_ASSERT_EQUAL(after(&threshold, 1000000, &now_ns), 2048 * ms); /* never above 4 s */
}

static void test_one_that_was_asked_for_stays(void)
{
    const struct sampler_options options = {
        .off_cpu = {.wanted = true, .has_threshold = true, .threshold_ns = 5 * 1000000}};
    struct off_cpu_threshold threshold = off_cpu_threshold_of(&options);
    uint64_t now_ns = begin_ns;
    CU_ASSERT_EQUAL(after(&threshold, 1000000, &now_ns), 5 * ms);
}

void sprof_suite_sampler_threshold(void);
void sprof_suite_sampler_threshold(void)
{
    CU_pSuite suite = CU_add_suite("sampler/threshold", NULL, NULL);
    CU_add_test(suite, "more waits raise it", test_more_waits_raise_it);
    CU_add_test(suite, "one that was asked for stays", test_one_that_was_asked_for_stays);
}
