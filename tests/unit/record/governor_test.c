#include "record/governor.h"

#include <CUnit/CUnit.h>

enum { SECOND_NS = 1000000000 };

/* A second of a target that uses one CPU, at a rate; sprof needs so much for each sample and so
 * much besides. */
static uint64_t second(struct record_governor *governor, struct record_use *use, uint64_t hz,
                       uint64_t own_ns_each, uint64_t own_ns)
{
    use->target_ns += SECOND_NS;
    use->samples += hz;
    use->own_ns += hz * own_ns_each + own_ns;
    return record_governor_decide(governor, use, 24000, hz);
}

static double share_at(uint64_t hz, uint64_t own_ns_each, uint64_t own_ns)
{
    return (double)(hz * (own_ns_each + 24000) + own_ns) / SECOND_NS;
}

static void test_it_comes_to_what_is_wanted_and_stays(void)
{
    struct record_governor governor;
    struct record_use use = {0};
    uint64_t hz = 4000, changes = 0;
    record_governor_begin(&governor, 0.01, hz);
    for (int i = 0; i < 20; i++) {
        const uint64_t next = second(&governor, &use, hz, 10000, 1000000);
        changes += next != hz;
        hz = next;
    }
    CU_ASSERT_TRUE(share_at(hz, 10000, 1000000) <= 0.011);
    CU_ASSERT_TRUE(share_at(hz, 10000, 1000000) >= 0.0075);
    CU_ASSERT_TRUE(changes > 0 && changes <= 3);
    CU_ASSERT_EQUAL(governor.highest_hz, 4000);
    CU_ASSERT_TRUE(governor.lowest_hz <= hz);
}

static void test_it_never_goes_above_what_was_asked(void)
{
    struct record_governor governor;
    struct record_use use = {0};
    uint64_t hz = 997;
    record_governor_begin(&governor, 0.5, hz);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(hz = second(&governor, &use, hz, 10000, 0), 997);
    /* A costly second, then cheap ones: back to where it was. */
    hz = second(&governor, &use, hz, 10000, 3000000000);
    CU_ASSERT_TRUE(hz < 400);
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 10000, 0);
    CU_ASSERT_EQUAL(hz, 997);
    record_governor_ask(&governor, 2000);
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 10000, 0);
    CU_ASSERT_EQUAL(hz, 2000);
}

/* A target that waits gives nothing to decide by; what can never be met ends at a least rate. */
static void test_what_cannot_be_decided(void)
{
    struct record_governor governor;
    struct record_use use = {.own_ns = SECOND_NS, .target_ns = 1000000};
    record_governor_begin(&governor, 0.01, 997);
    CU_ASSERT_EQUAL(record_governor_decide(&governor, &use, 24000, 997), 997);
    uint64_t hz = 997;
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 0, SECOND_NS);
    CU_ASSERT_EQUAL(hz, 10);
    governor.most = 0;
    CU_ASSERT_EQUAL(second(&governor, &use, 500, 0, SECOND_NS), 500);
}

static void test_the_share_so_far(void)
{
    struct record_governor governor;
    struct record_use use = {0};
    record_governor_begin(&governor, 0.01, 1000);
    CU_ASSERT_EQUAL(record_governor_share(&governor, &use, 24000), 0);
    second(&governor, &use, 1000, 6000, 0);
    CU_ASSERT_DOUBLE_EQUAL(record_governor_share(&governor, &use, 24000), 0.03, 1e-9);
    CU_ASSERT_TRUE(record_governor_sample_ns(false, 65536) > record_governor_sample_ns(false, 0));
    CU_ASSERT_TRUE(record_governor_sample_ns(true, 8192) < record_governor_sample_ns(false, 8192));
}

void sprof_suite_record_governor(void);
void sprof_suite_record_governor(void)
{
    CU_pSuite suite = CU_add_suite("record/governor", NULL, NULL);
    CU_add_test(suite, "it comes to what is wanted, and stays",
                test_it_comes_to_what_is_wanted_and_stays);
    CU_add_test(suite, "it never goes above what was asked",
                test_it_never_goes_above_what_was_asked);
    CU_add_test(suite, "what cannot be decided", test_what_cannot_be_decided);
    CU_add_test(suite, "the share so far", test_the_share_so_far);
}
