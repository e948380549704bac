#include "record/governor.h"

#include <CUnit/CUnit.h>

enum { SECOND_NS = 1000000000, SLICE = 64 << 10 };

/* A second of a target that uses one CPU; sprof needs so much for each sample and so much besides;
 * stacks use so many bytes, and as many as the slice holds are copied. */
static struct record_choice second_of_stacks(struct record_governor *governor,
                                             struct record_use *use, struct record_choice now,
                                             uint64_t own_ns_each, uint64_t own_ns, uint64_t used)
{
    use->target_ns += SECOND_NS;
    use->samples += now.hz;
    use->stack_bytes += now.hz * now.slice;
    use->own_ns += now.hz * own_ns_each + own_ns;
    for (uint64_t i = 0; i < now.hz; i++)
        record_governor_note_stack(governor, used);
    return record_governor_decide(governor, use, now);
}

/* The same of stacks as deep as the slice: samples of 24 µs. */
static uint64_t second(struct record_governor *governor, struct record_use *use, uint64_t hz,
                       uint64_t own_ns_each, uint64_t own_ns)
{
    const struct record_choice now = {hz, SLICE};
    const struct record_choice chosen =
        second_of_stacks(governor, use, now, own_ns_each, own_ns, SLICE);
    CU_ASSERT_EQUAL(chosen.slice, SLICE);
    return chosen.hz;
}

static struct record_governor governor_of(double most, uint64_t hz)
{
    struct record_governor governor;
    record_governor_begin(&governor, most, false, (struct record_choice){hz, SLICE});
    return governor;
}

static double share_at(uint64_t hz, uint64_t own_ns_each, uint64_t own_ns)
{
    return (double)(hz * (own_ns_each + 24000) + own_ns) / SECOND_NS;
}

static void test_it_comes_to_what_is_wanted_and_stays(void)
{
    struct record_use use = {0};
    uint64_t hz = 4000, changes = 0;
    struct record_governor governor = governor_of(0.01, hz);
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
    struct record_use use = {0};
    uint64_t hz = 997;
    struct record_governor governor = governor_of(0.5, hz);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(hz = second(&governor, &use, hz, 10000, 0), 997);
    /* A costly second, then cheap ones: back to where it was. */
    hz = second(&governor, &use, hz, 10000, 3000000000);
    CU_ASSERT_TRUE(hz < 400);
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 10000, 0);
    CU_ASSERT_EQUAL(hz, 997);
    record_governor_ask(&governor, (struct record_choice){2000, SLICE});
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 10000, 0);
    CU_ASSERT_EQUAL(hz, 2000);
}

/* A target that waits gives nothing to decide by; what can never be met ends at a least rate. */
static void test_what_cannot_be_decided(void)
{
    const struct record_choice asked = {997, SLICE};
    struct record_governor governor = governor_of(0.01, asked.hz);
    struct record_use use = {.own_ns = SECOND_NS, .target_ns = 1000000};
    CU_ASSERT_EQUAL(record_governor_decide(&governor, &use, asked).hz, 997);
    uint64_t hz = 997;
    for (int i = 0; i < 10; i++)
        hz = second(&governor, &use, hz, 0, SECOND_NS);
    CU_ASSERT_EQUAL(hz, 10);
    governor.most = 0;
    CU_ASSERT_EQUAL(second(&governor, &use, 500, 0, SECOND_NS), 500);
}

static void test_the_share_so_far(void)
{
    struct record_governor governor = governor_of(0.01, 1000);
    struct record_use use = {0};
    CU_ASSERT_EQUAL(record_governor_share(&governor, &use), 0);
    second(&governor, &use, 1000, 6000, 0);
    CU_ASSERT_DOUBLE_EQUAL(record_governor_share(&governor, &use), 0.03, 0.0003);
}

/* What was measured of a target's own clock, to the half microsecond that its gaps could show. */
static void test_samples_cost_what_was_measured(void)
{
    static const struct {
        bool is_agent;
        uint64_t stack_kib;
        double measured_ns;
    } cases[] = {
        {false, 0, 15000}, {false, 8, 16000}, {false, 64, 24000}, {true, 0, 8000}, {true, 64, 11000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t count = 1; count <= 1000; count *= 10) {
            const double ns = record_governor_samples_ns(cases[i].is_agent, count,
                                                         count * cases[i].stack_kib << 10);
            CU_ASSERT_DOUBLE_EQUAL(ns / (double)count, cases[i].measured_ns, 500);
        }
}

/* What is copied above the end of shallow stacks is spared before samples are; the rate then goes
 * to where it is right for what is left. */
static void test_the_slice_shrinks_to_what_stacks_use(void)
{
    struct record_governor governor = governor_of(0.01, 2000);
    struct record_use use = {0};
    struct record_choice now = {2000, SLICE};
    now = second_of_stacks(&governor, &use, now, 1000, 0, 5000);
    CU_ASSERT_EQUAL(now.slice, 8192);
    CU_ASSERT_EQUAL(now.hz, 2000);
    for (int i = 0; i < 5; i++)
        now = second_of_stacks(&governor, &use, now, 1000, 0, 5000);
    CU_ASSERT_EQUAL(now.slice, 8192);
    CU_ASSERT_TRUE(now.hz >= 400 && now.hz < 700);
    CU_ASSERT_EQUAL(governor.least_slice, 8192);
    /* Deeper ones come: it grows at once, up to what was asked for. */
    now = second_of_stacks(&governor, &use, now, 1000, 0, 30000);
    CU_ASSERT_EQUAL(now.slice, 32768);
    now = second_of_stacks(&governor, &use, now, 1000, 0, 500000);
    CU_ASSERT_EQUAL(now.slice, SLICE);
}

static void test_the_slice_stays(void)
{
    /* Where nothing is too costly. */
    struct record_governor governor = governor_of(0.5, 997);
    struct record_use use = {0};
    const struct record_choice asked = {997, SLICE};
    CU_ASSERT_EQUAL(second_of_stacks(&governor, &use, asked, 1000, 0, 3000).slice, SLICE);
    /* Where one stack of fifty is not whole, or deeper. */
    governor = governor_of(0.001, 997);
    use = (struct record_use){0};
    for (int i = 0; i < 20; i++)
        record_governor_note_stack(&governor, 0);
    CU_ASSERT_EQUAL(second_of_stacks(&governor, &use, asked, 1000, 0, 3000).slice, SLICE);
    /* Where little would be spared. */
    const struct record_choice small = {997, 5000};
    record_governor_begin(&governor, 0.001, false, small);
    use = (struct record_use){0};
    CU_ASSERT_EQUAL(second_of_stacks(&governor, &use, small, 1000, 0, 3000).slice, 5000);
    /* Samples without stacks have none. */
    const struct record_choice bare = {997, 0};
    record_governor_begin(&governor, 0.001, true, bare);
    use = (struct record_use){0};
    CU_ASSERT_EQUAL(second_of_stacks(&governor, &use, bare, 1000, 0, 3000).slice, 0);
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
    CU_add_test(suite, "samples cost what was measured", test_samples_cost_what_was_measured);
    CU_add_test(suite, "the slice shrinks to what stacks use",
                test_the_slice_shrinks_to_what_stacks_use);
    CU_add_test(suite, "the slice stays", test_the_slice_stays);
}
