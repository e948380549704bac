/* Weights of ticks: single ticks, and simulated CPUs whose time is known. */
#include "sampler/bpf/tick_weight.h"

#include <CUnit/CUnit.h>
#include <stdint.h>

enum { PERIOD_NS = 1000000 };

static uint64_t tick(struct sampling_clock *clock, uint64_t due_ns, uint64_t period_ns, bool same)
{
    const struct sampling_due due = {due_ns, due_ns + 2000, period_ns, same};
    return sampling_weigh_tick(clock, &due);
}

static void test_a_tick_weighs_its_period(void)
{
    struct sampling_clock clock = {0};
    CU_ASSERT_EQUAL(tick(&clock, 50000000, PERIOD_NS, false), PERIOD_NS);
    CU_ASSERT_EQUAL(tick(&clock, 51000000, PERIOD_NS, false), PERIOD_NS);
    CU_ASSERT_EQUAL(tick(&clock, 52000000, PERIOD_NS, true), PERIOD_NS);
}

/* Of ticks that did not come here, only what the same thread was met before and after is its own.
 */
static void test_a_gap_is_the_threads_that_ran_in_it(void)
{
    struct sampling_clock clock = {0};
    tick(&clock, 50000000, PERIOD_NS, false);
    CU_ASSERT_EQUAL(tick(&clock, 53000000, PERIOD_NS, false), PERIOD_NS);
    CU_ASSERT_EQUAL(tick(&clock, 56000000, PERIOD_NS, true), 3 * PERIOD_NS);
    CU_ASSERT_EQUAL(tick(&clock, 56000000 + 2ULL * SAMPLING_GAP_NS_MAX, PERIOD_NS, true),
                    PERIOD_NS); /* nobody knows what was there */
}

static void test_a_late_tick_weighs_what_has_passed(void)
{
    struct sampling_clock clock = {0};
    tick(&clock, 50000000, PERIOD_NS, false);
    const struct sampling_due late = {51000000, 53900000, PERIOD_NS, false};
    CU_ASSERT_EQUAL(sampling_weigh_tick(&clock, &late), 3 * PERIOD_NS);
    CU_ASSERT_EQUAL(clock.grid_ns, 53000000);
    CU_ASSERT_EQUAL(tick(&clock, 54000000, PERIOD_NS, true), PERIOD_NS);
    const struct sampling_due early = {55000000, 54999999, PERIOD_NS, false};
    CU_ASSERT_EQUAL(sampling_weigh_tick(&clock, &early), PERIOD_NS);
}

/* 0.4 ms after a point of the old grid the period becomes 0.7 ms. */
static struct sampling_clock changed(void)
{
    struct sampling_clock clock = {0};
    tick(&clock, 50000000, PERIOD_NS, false);
    clock.change_ns = 50390000; /* right before */
    return clock;
}

static void test_the_first_of_a_new_grid_has_the_rest_of_the_old(void)
{
    struct sampling_clock first = changed();
    CU_ASSERT_EQUAL(tick(&first, 51100000, 700000, false), 700000 + 400000);
    CU_ASSERT_EQUAL(tick(&first, 51800000, 700000, false), 700000);
    struct sampling_clock missed = changed(); /* the first met somebody who is not seen */
    CU_ASSERT_EQUAL(tick(&missed, 51800000, 700000, false), 700000);
    struct sampling_clock old = changed(); /* as do the last of the old */
    old.change_ns += 3 * PERIOD_NS;
    CU_ASSERT_EQUAL(tick(&old, 54100000, 700000, false), 700000 + 400000);
    struct sampling_clock same = changed();
    CU_ASSERT_EQUAL(tick(&same, 51100000, 700000, true), 700000 + 400000);
}

/* == A CPU == */

static uint64_t random_below(uint64_t *state, uint64_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % bound;
}

/* Its timer fires every period, which changes every 100 ms. It runs threads of up to `run_ns` with
 * pauses of up to `idle_ns` between them, each no shorter than half of that. Ticks of the idle task
 * are not seen. Returns what the ticks of threads weigh, as a share of the time they had. */
static double share_weighed(uint64_t run_ns, uint64_t idle_ns, uint64_t lowest_ns,
                            uint64_t highest_ns)
{
    struct sampling_clock clock = {0};
    uint64_t state = 88172645463325252ULL, period_ns = PERIOD_NS, due_ns = PERIOD_NS;
    uint64_t change_ns = 100000000, begin_ns = 0, end_ns = 0, had_ns = 0, met = 0;
    double weight_ns = 0;
    for (uint64_t thread = 1; end_ns < 200000000000ULL; thread++) {
        begin_ns = end_ns + (idle_ns ? idle_ns / 2 + random_below(&state, idle_ns / 2) : 0);
        end_ns = begin_ns + run_ns / 2 + random_below(&state, run_ns / 2);
        had_ns += end_ns - begin_ns;
        while (due_ns < end_ns) {
            if (change_ns < due_ns) {
                clock.change_ns = change_ns - 2000;
                period_ns = lowest_ns + random_below(&state, highest_ns - lowest_ns);
                due_ns = change_ns + period_ns;
                change_ns += 100000000;
                continue;
            }
            if (due_ns >= begin_ns) {
                weight_ns += (double)tick(&clock, due_ns, period_ns, met == thread);
                met = thread;
            }
            due_ns += period_ns;
        }
    }
    return weight_ns / (double)had_ns;
}

static void test_weights_are_the_time_of_threads(void)
{
    static const uint64_t runs[] = {100000, 400000, 1000000, 3000000, 20000000};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        CU_ASSERT_DOUBLE_EQUAL(share_weighed(runs[i], runs[i], 700000, 1300000), 1, 0.02);
        CU_ASSERT_DOUBLE_EQUAL(share_weighed(runs[i], 50000, 700000, 1300000), 1, 0.02);
        CU_ASSERT_DOUBLE_EQUAL(share_weighed(runs[i], 0, 700000, 1300000), 1, 0.001);
        CU_ASSERT_DOUBLE_EQUAL(share_weighed(runs[i], runs[i], 500000, 10000000), 1, 0.04);
    }
}

void sprof_suite_sampler_tick_weight(void);
void sprof_suite_sampler_tick_weight(void)
{
    CU_pSuite suite = CU_add_suite("sampler/tick_weight", NULL, NULL);
    CU_add_test(suite, "a tick weighs its period", test_a_tick_weighs_its_period);
    CU_add_test(suite, "a gap is the thread's that ran in it",
                test_a_gap_is_the_threads_that_ran_in_it);
    CU_add_test(suite, "a late tick weighs what has passed",
                test_a_late_tick_weighs_what_has_passed);
    CU_add_test(suite, "the first of a new grid has the rest of the old",
                test_the_first_of_a_new_grid_has_the_rest_of_the_old);
    CU_add_test(suite, "weights are the time of threads", test_weights_are_the_time_of_threads);
}
