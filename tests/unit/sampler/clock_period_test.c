#include "sampler/perf/clock_period.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* A timer as the kernel's: it fires every period, and a change starts it anew. */
struct timer {
    uint64_t next_ns, period_ns;
};

static void test_a_steady_clock(void)
{
    struct perf_clock clock = {0};
    perf_clock_start(&clock, SECOND, MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + MS), MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 2 * MS), MS);
    /* What the timer met in between was somebody else. */
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 9 * MS), MS);
}

static void test_the_first_after_a_change(void)
{
    static const struct {
        uint64_t sample_ns, weight_ns;
    } cases[] = {
        {100, 100},                /* too early to be anything but the first */
        {2 * MS, 2 * MS + 400000}, /* with what had run before the change */
        {4 * MS, 2 * MS}, /* the second: the first met somebody else, and what came before it */
        {40 * MS, 2 * MS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_clock clock = {0};
        perf_clock_start(&clock, SECOND, MS);
        perf_clock_weigh(&clock, SECOND + MS);
        const uint64_t change_ns = SECOND + 5 * MS + 400000;
        perf_clock_change(&clock, change_ns, change_ns, 2 * MS);
        const uint64_t weight_ns = perf_clock_weigh(&clock, change_ns + cases[i].sample_ns);
        if (i)
            CU_ASSERT_EQUAL(weight_ns, cases[i].weight_ns);
    }
}

/* A sample that was read late belongs to the period it was taken in. */
static void test_samples_read_after_a_change(void)
{
    struct perf_clock clock = {0};
    perf_clock_start(&clock, SECOND, MS);
    perf_clock_change(&clock, SECOND + 2 * MS + 100000, SECOND + 2 * MS + 110000, 3 * MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + MS), MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 2 * MS), MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 5 * MS + 110000), 3 * MS + 110000);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 8 * MS + 110000), 3 * MS);
}

/* The timer fired in the moment of the call: the sample says so. */
static void test_a_sample_during_the_call(void)
{
    struct perf_clock clock = {0};
    perf_clock_start(&clock, SECOND, MS);
    perf_clock_change(&clock, SECOND + MS - 5, SECOND + MS + 5, 2 * MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + MS), MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, SECOND + 3 * MS), 2 * MS);
}

/* A paused span is weighed by nobody; nor what had run when the pause began. */
static void test_a_pause(void)
{
    struct perf_clock clock = {0};
    perf_clock_start(&clock, SECOND, MS);
    perf_clock_weigh(&clock, SECOND + MS);
    perf_clock_change(&clock, SECOND + MS + 500000, SECOND + MS + 500000, 0);
    perf_clock_change(&clock, 5 * SECOND, 5 * SECOND, MS);
    CU_ASSERT_EQUAL(perf_clock_weigh(&clock, 5 * SECOND + MS), MS);
}

static void test_changes_are_bounded(void)
{
    struct perf_clock clock = {0};
    perf_clock_start(&clock, SECOND, MS);
    for (uint64_t i = 1; i <= PERF_CLOCK_CHANGES_MAX; i++) {
        CU_ASSERT_TRUE(perf_clock_has_room(&clock));
        perf_clock_change(&clock, SECOND + i * SECOND, SECOND + i * SECOND, i * MS);
    }
    CU_ASSERT_FALSE(perf_clock_has_room(&clock));
    perf_clock_change(&clock, 900 * SECOND, 900 * SECOND, 7);
    CU_ASSERT_EQUAL(clock.newest_period_ns, PERF_CLOCK_CHANGES_MAX * MS);
    perf_clock_weigh(&clock, 4 * SECOND);
    CU_ASSERT_TRUE(perf_clock_has_room(&clock));
    CU_ASSERT_EQUAL(clock.period_ns, 3 * MS);
}

/* Runs a timer for a second, changed every 100 ms as the source does it, in front of a thread that
 * has the CPU `of_ten` tenths of each 7 ms. Returns the sum of weights. */
static uint64_t weigh_a_second(unsigned of_ten, uint64_t *random, double *samples)
{
    struct perf_clock clock = {0};
    const uint64_t first = perf_clock_jitter(&clock, MS, random);
    struct timer timer = {SECOND + first, first};
    uint64_t sum_ns = 0, change_ns = SECOND + 100 * MS;
    perf_clock_start(&clock, SECOND, first);
    while (timer.next_ns < 2 * SECOND || change_ns < 2 * SECOND) {
        if (timer.next_ns <= change_ns) {
            const bool mine = timer.next_ns % (7 * MS) < 7 * MS * of_ten / 10;
            sum_ns += mine ? perf_clock_weigh(&clock, timer.next_ns) : 0;
            *samples += mine;
            timer.next_ns += timer.period_ns;
        } else {
            timer.period_ns = perf_clock_jitter(&clock, MS, random);
            perf_clock_change(&clock, change_ns - 10000, change_ns + 10000, timer.period_ns);
            timer.next_ns = change_ns + timer.period_ns;
            change_ns += 100 * MS;
        }
    }
    return sum_ns;
}

static void test_a_second_weighs_a_second(void)
{
    uint64_t random = 88172645463325252;
    double samples = 0;
    for (int i = 0; i < 1000; i++) {
        const uint64_t sum_ns = weigh_a_second(10, &random, &samples);
        CU_ASSERT_TRUE(sum_ns + 13 * MS / 10 + 20000 >= SECOND && sum_ns <= SECOND + 13 * MS / 10);
    }
    CU_ASSERT_TRUE(fabs(samples / 1000 - 1000) < 10); /* the rate asked for */
}

/* Three tenths of the time, in steps of seven periods: nothing is gained or lost by the changes. */
static void test_a_part_of_the_time(void)
{
    uint64_t random = 1;
    double sum_s = 0, samples = 0;
    for (int i = 0; i < 1000; i++)
        sum_s += (double)weigh_a_second(3, &random, &samples) / SECOND;
    CU_ASSERT_TRUE(fabs(sum_s / 1000 - 0.3003) < 0.001);
}

static void test_jitter(void)
{
    enum { COUNT = 100000 };
    uint64_t random = 7;
    struct perf_clock clock = {0};
    double mean_rate = 0, pairs = 0, last = 0;
    bool bounded = true;
    for (int i = 0; i < COUNT; i++) {
        const uint64_t period = perf_clock_jitter(&clock, MS, &random);
        bounded &= period >= 7 * MS / 10 && period <= 13 * MS / 10;
        const double rate = (double)MS / (double)period;
        mean_rate += rate / COUNT;
        pairs += i % 2 ? (last + rate - 2) * (last + rate - 2) / (COUNT / 2) : 0;
        last = rate;
    }
    CU_ASSERT_TRUE(bounded);
    CU_ASSERT_TRUE(sqrt(pairs) < 0.12); /* of two independent ones 0.25 */
    CU_ASSERT_TRUE(fabs(mean_rate - 1) < 3 * 0.178 / sqrt(COUNT)); /* ∫ (1/p − 1)² dp: 0.178² */
    CU_ASSERT_TRUE(perf_clock_jitter(&clock, 10000, &random) >= 7000);
}

void sprof_suite_sampler_clock_period(void);
void sprof_suite_sampler_clock_period(void)
{
    CU_pSuite suite = CU_add_suite("sampler/clock_period", NULL, NULL);
    CU_add_test(suite, "a steady clock", test_a_steady_clock);
    CU_add_test(suite, "the first after a change", test_the_first_after_a_change);
    CU_add_test(suite, "samples read after a change", test_samples_read_after_a_change);
    CU_add_test(suite, "a sample during the call", test_a_sample_during_the_call);
    CU_add_test(suite, "a pause", test_a_pause);
    CU_add_test(suite, "changes are bounded", test_changes_are_bounded);
    CU_add_test(suite, "a second weighs a second", test_a_second_weighs_a_second);
    CU_add_test(suite, "a part of the time", test_a_part_of_the_time);
    CU_add_test(suite, "jitter", test_jitter);
}
