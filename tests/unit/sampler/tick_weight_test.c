/* Weights of ticks: single ticks, and simulated CPUs whose time is known. */
#include "sampler/bpf/tick_weight.h"

#include <CUnit/CUnit.h>
#include <math.h>
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

/* == Threads that do not sleep ==================================================================
 */

enum { TICK_NS = 4000000 }; /* of the scheduler */

/* A CPU with the thread that is sampled and others that take it away, on a machine that its host
 * may stop. The scheduler's clock is another one, and stands still with it, if the host says so. */
struct machine {
    uint64_t now_ns, stolen_ns, used_ns, due_ns, period_ns;
    uint64_t charge_ns, turn_ns, change_ns, stop_ns; /* when these come next */
    uint64_t longest_stop_ns;
    bool host_is_silent; /* the scheduler takes stops for CPU time */
    uint64_t short_ns;   /* 0, or each turn of the CPU is another thread's, at most so long … */
    uint64_t before_ns;  /* … and what those before it used */
    bool others;         /* have the CPU */
    struct sampling_met met[2]; /* the thread, and the others */
    struct sampling_clock clock;
    struct sampling_thread known;
    uint64_t random, weighed_ns;
    double worst_ns; /* of weights and time, once settled */
    double begun_ns;
};

static void charge(struct machine *machine)
{
    struct sampling_met *met = &machine->met[machine->others];
    met->charged_ns = 77777777777 + machine->now_ns - machine->stolen_ns;
    if (!machine->others)
        met->used_ns = machine->used_ns - machine->before_ns;
}

static void turn(struct machine *machine)
{
    charge(machine);
    machine->met[machine->others].switches++;
    machine->others = !machine->others;
    const uint64_t turn_ns = machine->others     ? 5000000
                             : machine->short_ns ? machine->short_ns
                                                 : 90000000;
    if (machine->short_ns && !machine->others) {
        machine->before_ns = machine->used_ns;
        machine->met[0] = (struct sampling_met){.thread = machine->met[0].thread + 2};
    }
    charge(machine);
    machine->turn_ns = machine->now_ns + random_below(&machine->random, turn_ns);
}

static void deliver(struct machine *machine)
{
    const struct sampling_met *met = &machine->met[machine->others];
    struct sampling_due due = {machine->due_ns, machine->now_ns, machine->period_ns, false};
    const bool is_late = machine->now_ns > machine->due_ns + machine->period_ns;
    due.same = sampling_meet(&machine->clock, met, &due);
    const uint64_t weight_ns = sampling_weigh_tick(&machine->clock, &due);
    if (!machine->others)
        machine->weighed_ns +=
            sampling_weigh_thread(&machine->known, &machine->clock, met, &due, weight_ns);
    while (machine->due_ns <= machine->now_ns)
        machine->due_ns += machine->period_ns;
    if (machine->others || is_late || machine->used_ns < 1000000000)
        return;
    const double off_ns = (double)machine->weighed_ns - (double)machine->used_ns;
    if (machine->begun_ns == 0)
        machine->begun_ns = off_ns;
    if (fabs(off_ns - machine->begun_ns) > machine->worst_ns)
        machine->worst_ns = fabs(off_ns - machine->begun_ns);
}

static uint64_t least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The host stops it. */
static void stop(struct machine *machine)
{
    const uint64_t stop_ns = random_below(&machine->random, machine->longest_stop_ns);
    machine->now_ns += stop_ns;
    if (!machine->host_is_silent)
        machine->stolen_ns += stop_ns;
    else if (!machine->others)
        machine->used_ns += stop_ns;
    machine->stop_ns = machine->now_ns + random_below(&machine->random, 100000000);
}

static void run_a_minute(struct machine *machine)
{
    machine->due_ns = machine->period_ns = PERIOD_NS;
    machine->change_ns = 100000000;
    machine->stop_ns = machine->longest_stop_ns ? 100000000 : UINT64_MAX;
    machine->random = 88172645463325252ULL;
    machine->met[0].thread = 1;
    machine->met[1].thread = 2;
    charge(machine);
    machine->turn_ns = 30000000;
    while (machine->now_ns < 60000000000) {
        const uint64_t next_ns =
            least(least(least(machine->due_ns, machine->charge_ns), machine->turn_ns),
                  least(machine->change_ns, machine->stop_ns));
        const uint64_t ran_ns = next_ns > machine->now_ns ? next_ns - machine->now_ns : 0;
        machine->now_ns += ran_ns;
        machine->used_ns += machine->others ? 0 : ran_ns;
        if (machine->now_ns >= machine->stop_ns)
            stop(machine);
        if (machine->now_ns >= machine->charge_ns) {
            charge(machine);
            machine->charge_ns = machine->now_ns + TICK_NS - machine->now_ns % TICK_NS;
        }
        if (machine->now_ns >= machine->due_ns)
            deliver(machine);
        if (machine->now_ns >= machine->turn_ns)
            turn(machine);
        if (machine->now_ns >= machine->change_ns) {
            machine->clock.change_ns = machine->now_ns;
            machine->period_ns = PERIOD_NS * 7 / 10 + random_below(&machine->random, 600000);
            machine->due_ns = machine->now_ns + machine->period_ns;
            machine->change_ns += 100000000;
        }
    }
}

/* How far weights and CPU time were ever apart at a tick. */
static double worst_of_a_minute(uint64_t longest_stop_ns)
{
    struct machine machine = {.longest_stop_ns = longest_stop_ns};
    run_a_minute(&machine);
    return machine.worst_ns;
}

/* Weights of short threads as a share of the CPU time that the scheduler knows of. */
static double share_of_a_minute(uint64_t short_ns, uint64_t longest_stop_ns, bool host_is_silent)
{
    struct machine machine = {
        .short_ns = short_ns, .longest_stop_ns = longest_stop_ns, .host_is_silent = host_is_silent};
    run_a_minute(&machine);
    return (double)machine.weighed_ns / (double)machine.used_ns;
}

/* Whatever others take of the CPU; and where the host stops it, but for what the scheduler has not
 * charged yet. */
static void test_a_thread_that_does_not_sleep(void)
{
    CU_ASSERT_TRUE(worst_of_a_minute(0) < PERIOD_NS / 10);
    CU_ASSERT_TRUE(worst_of_a_minute(50000000) < TICK_NS + 2 * PERIOD_NS);
}

/* Whether or not the scheduler knows what the host took. */
static void test_short_threads_on_a_stopped_machine(void)
{
    static const uint64_t runs[] = {1000000, 3000000, 20000000};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (uint64_t stop_ns = 5000000; stop_ns <= 50000000; stop_ns += 45000000) {
            CU_ASSERT_DOUBLE_EQUAL(share_of_a_minute(runs[i], stop_ns, false), 1, 0.03);
            CU_ASSERT_DOUBLE_EQUAL(share_of_a_minute(runs[i], stop_ns, true), 1, 0.01);
        }
}

/* The place of a thread that has ended is a new one's, which has not slept either. */
static void test_a_new_thread_is_not_an_old_one(void)
{
    struct sampling_clock clock = {0};
    struct sampling_thread known = {0};
    struct sampling_met met = {.thread = 5, .used_ns = 70 * PERIOD_NS, .charged_ns = 1000000000};
    struct sampling_due due = {2000000000, 2000000000, PERIOD_NS, false};
    sampling_meet(&clock, &met, &due);
    CU_ASSERT_EQUAL(sampling_weigh_thread(&known, &clock, &met, &due, PERIOD_NS), PERIOD_NS);
    met.thread = 6;
    for (int i = 0; i < 3; i++) {
        due.now_ns = due.due_ns += 4 * PERIOD_NS;
        met.charged_ns += 4 * PERIOD_NS;
        met.used_ns = PERIOD_NS / 10;
        CU_ASSERT_EQUAL(sampling_meet(&clock, &met, &due), i > 0);
        CU_ASSERT_EQUAL(sampling_weigh_thread(&known, &clock, &met, &due, PERIOD_NS), PERIOD_NS);
    }
}

/* One that sleeps, or is met for the first time, is weighed by the timer; and nothing of a pause.
 */
static void test_where_the_timer_counts(void)
{
    struct sampling_clock clock = {0};
    struct sampling_thread known = {0};
    struct sampling_met met = {.thread = 5, .used_ns = 9000000000, .charged_ns = 1000000000};
    struct sampling_due due = {2000000000, 2000000000, PERIOD_NS, false};
    const uint64_t timer_ns = 123;
    for (int i = 0; i < 40; i++) {
        sampling_meet(&clock, &met, &due);
        const uint64_t weight_ns = sampling_weigh_thread(&known, &clock, &met, &due, timer_ns);
        const bool is_settled = i % 20 >= SAMPLING_SETTLED / 2;
        CU_ASSERT_EQUAL(weight_ns, is_settled && i < 30 ? 2 * PERIOD_NS : timer_ns);
        met.sleeps += i == 19 || i >= 29;
        met.used_ns += 2 * PERIOD_NS;
        met.charged_ns += 2 * PERIOD_NS;
        due.now_ns = due.due_ns += 2 * PERIOD_NS;
    }
    known.sleeps = met.sleeps;
    known.begun_ns = 0;
    clock.pauses++;
    CU_ASSERT_EQUAL(sampling_weigh_thread(&known, &clock, &met, &due, timer_ns), timer_ns);
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
    CU_add_test(suite, "a thread that does not sleep", test_a_thread_that_does_not_sleep);
    CU_add_test(suite, "short threads on a stopped machine",
                test_short_threads_on_a_stopped_machine);
    CU_add_test(suite, "a new thread is not an old one", test_a_new_thread_is_not_an_old_one);
    CU_add_test(suite, "where the timer counts", test_where_the_timer_counts);
}
