/* The preloaded part in programs that are hard for it, against a recorder that only counts. */
#include "tests/unit/agent/consumer.h"

#include <CUnit/CUnit.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where this process had no CPU for so long that an agent may have given up, nothing was tested. */
static struct consumed run(const struct consumer_settings *settings, const char *task, int number)
{
    struct consumed consumed;
    for (int tries = 0; tries < 5; tries++) {
        CU_ASSERT_EQUAL_FATAL(consumer_run(&consumed, settings, task, number), 0);
        if (!consumed.late_answers)
            break;
        printf("\n    %s: %u answers came late\n", task, consumed.late_answers);
    }
    CU_ASSERT_EQUAL(consumed.malformed, 0);
    return consumed;
}

/* What the program wrote. */
static void check_output(const struct consumed *consumed, const char *expected)
{
    CU_ASSERT_STRING_EQUAL(consumed->output, expected);
    if (strcmp(consumed->output, expected))
        printf("\n    expected %s    but got %s    status %d, %u processes, %u samples\n", expected,
               consumed->output, consumed->status, consumed->processes, consumed->samples);
}

static struct consumed run_plain(const char *task, int number)
{
    const struct consumer_settings plain = {.slice_bytes = 16 << 10};
    return run(&plain, task, number);
}

/* Whether the subject can have precedence over all other work (take_precedence there). */
static bool can_have_precedence(void)
{
    const struct sched_param lowest = {.sched_priority = 1}, none = {0};
    return !sched_setscheduler(0, SCHED_FIFO, &lowest) &&
           !sched_setscheduler(0, SCHED_OTHER, &none);
}

/* Shots are one tick apart on average; their number varies by its root. On a CPU that is shared,
 * threads begin right after a tick and end before the next: up to half may be missing there, and
 * where the machine stands still, as for a third of the time when its host is busy, the ticks of
 * that time. A first sample at a random time of a tick, or one weighed by what was used before it,
 * loses four fifths. */
static void check_weight(const struct consumed *consumed, uint64_t used_ns, bool has_precedence)
{
    const double ticks = (double)used_ns / consumed->tick_ns;
    double root = 1;
    while (root * root < ticks)
        root++;
    const double off = ((double)consumed->weight_ns - (double)used_ns) / consumed->tick_ns;
    const double missing = 5 * root + ticks * (has_precedence ? 0.35 : 0.5);
    const double beyond = 5 * root + ticks * 0.2;
    CU_ASSERT_TRUE(off < beyond && off > -missing);
    if (off >= beyond || off <= -missing)
        printf("\n%.1f ticks used, %.1f sampled, precedence %d\n", ticks, ticks + off,
               has_precedence);
}

static void test_one_thread(void)
{
    const struct consumed consumed = run_plain("spin", 400);
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_EQUAL(consumed.processes, 1);
    CU_ASSERT_EQUAL(consumed.threads_with_samples, 1);
    CU_ASSERT_TRUE(consumed.samples > 5);
    CU_ASSERT_EQUAL(consumed.first_weight_ns, consumed.tick_ns);
    CU_ASSERT_TRUE(consumed.process_ns >= 400000000);
    /* First sample a tick, later ones what was used: two ticks stay uncertain, or as long as the
     * machine stands still at an end. */
    CU_ASSERT_TRUE(consumed.weight_ns > consumed.process_ns * 6 / 10);
    CU_ASSERT_TRUE(consumed.weight_ns < consumed.process_ns + 2 * consumed.tick_ns + 100000000);
    CU_ASSERT_EQUAL(consumed.with_stack, consumed.samples);
    CU_ASSERT_TRUE(consumed.cut * 2 < consumed.samples); /* those where the consumer gets no CPU */
}

static void test_bare_samples(void)
{
    const struct consumer_settings bare = {.slice_bytes = 0};
    const struct consumed consumed = run(&bare, "spin", 200);
    CU_ASSERT_TRUE(consumed.samples > 3);
    CU_ASSERT_EQUAL(consumed.with_stack, 0);
}

/* Threads shorter than a tick: few are sampled, and each sample stands for a tick. */
static void test_short_threads(void)
{
    const bool precedence = can_have_precedence();
    const struct consumed consumed = run_plain("short-threads", 1000);
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_EQUAL(consumed.forks, 1500);
    CU_ASSERT_EQUAL(consumed.exits, 1500);
    CU_ASSERT_EQUAL(consumed.names, 1501); /* and the main thread, as it ends */
    CU_ASSERT_TRUE(consumed.ended_ns >= 1500000000);
    CU_ASSERT_TRUE(consumed.slots_used <= 3); /* slots are used again */
    CU_ASSERT_EQUAL(consumed.refused[AGENT_REFUSED_SLOT], 0);
    check_weight(&consumed, consumed.process_ns, precedence);
}

/* A period of several ticks: the first sample is somewhere in it, and stands for all of it. */
static void test_long_period(void)
{
    const struct consumer_settings seldom = {.period_ns = 20000000};
    const struct consumed consumed = run(&seldom, "short-threads", 10000);
    const double periods = (double)consumed.process_ns / 20e6;
    CU_ASSERT_TRUE((double)consumed.samples < 2 * periods + 20);
    const double off = ((double)consumed.weight_ns - (double)consumed.process_ns) / 20e6;
    CU_ASSERT_TRUE(off < periods && off > -7 * periods / 8); /* periods is some 75 */
}

static void test_many_live_threads(void)
{
    const bool precedence = can_have_precedence();
    const struct consumed consumed = run_plain("live-threads", 600);
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_EQUAL(consumed.forks, 600);
    CU_ASSERT_TRUE(consumed.slots_used >= 600);
    /* Each works a little longer than a tick. */
    CU_ASSERT_TRUE(consumed.threads_with_samples >= (precedence ? 350 : 150));
    check_weight(&consumed, consumed.process_ns, precedence);
}

static void test_rings_of_the_smallest_size(void)
{
    const struct consumer_settings small = {.slice_bytes = 64 << 10, .ring_shift = 7};
    const struct consumed consumed = run(&small, "live-threads", 100);
    CU_ASSERT_TRUE(consumed.threads_with_samples >= 20);
    CU_ASSERT_EQUAL(consumed.lost, 0);
}

static void test_few_pending_signals(void)
{
    const struct consumed consumed = run_plain("few-pending", 40);
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_EQUAL(consumed.forks, 40);
    CU_ASSERT_TRUE(consumed.refused[AGENT_REFUSED_TIMER] > 0);
    CU_ASSERT_TRUE(consumed.ended_ns >= 40 * UINT64_C(5000000)); /* their CPU time is known */
}

static void test_fork(void)
{
    const struct consumed consumed = run_plain("fork", 200);
    check_output(&consumed, "7\n");
    CU_ASSERT_EQUAL(consumed.processes, 2);
    CU_ASSERT_EQUAL(consumed.forked, 1);
    CU_ASSERT_TRUE(consumed.weight_ns > 200000000);
    check_weight(&consumed, consumed.process_ns, false);
}

/* Nothing of it reaches the rings, which are the parent's. */
static void test_fork_behind_libc(void)
{
    const struct consumed consumed = run_plain("raw-fork", 200);
    check_output(&consumed, "7\n");
    CU_ASSERT_EQUAL(consumed.processes, 1);
    CU_ASSERT_EQUAL(consumed.forks, 0);
}

static void test_all_ways_to_start_a_program(void)
{
    const struct consumed consumed = run_plain("programs", 30);
    CU_ASSERT_EQUAL(consumed.status, 0);
    /* itself; three forks and seven execs; two spawned; a shell for each of system and popen, which
     * execs the program it is to run. */
    CU_ASSERT_EQUAL(consumed.processes - consumed.forked, 1 + 7 + 2 + 2 * 2);
    CU_ASSERT_EQUAL(consumed.forked, 3);
    CU_ASSERT_TRUE(consumed.weight_ns > 11 * UINT64_C(30000000) / 2);
}

static void test_environment_and_descriptors_are_the_programs(void)
{
    const struct consumed consumed = run_plain("environment", 0);
    CU_ASSERT_EQUAL(consumed.processes, 1);
    check_output(&consumed, "3\n");
}

static void test_waiting_for_all_signals(void)
{
    const struct consumed consumed = run_plain("wait-for-all", 0);
    check_output(&consumed, "1\n");
    CU_ASSERT_TRUE(consumed.samples > 3);
}

static void test_program_that_profiles_itself(void)
{
    static const char *const tasks[] = {"own-profiler", "own-timer"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const struct consumed consumed = run_plain(tasks[i], 300);
        int ticks = 0, is_its_own = 0;
        CU_ASSERT_EQUAL(sscanf(consumed.output, "%d %d", &ticks, &is_its_own), 2);
        CU_ASSERT_TRUE(ticks >= 2 && ticks <= 60); /* its own 100 a second, none of the agent's */
        CU_ASSERT_EQUAL(is_its_own, 1);
        CU_ASSERT_EQUAL(consumed.own_handler, 1);
        CU_ASSERT_TRUE(consumed.samples > 3 && consumed.weight_ns < 250000000); /* before it did */
    }
}

/* A handler without a timer is no profiler: the program is sampled, and gets what it sends itself.
 */
static void test_program_with_a_handler(void)
{
    const struct consumed consumed = run_plain("own-handler", 300);
    check_output(&consumed, "5\n");
    CU_ASSERT_EQUAL(consumed.own_handler, 0);
    CU_ASSERT_TRUE(consumed.samples > 3);
    CU_ASSERT_TRUE(consumed.weight_ns > consumed.process_ns / 2);
}

static void test_no_system_call_is_cut_short(void)
{
    const struct consumed consumed = run_plain("interrupted", 2000);
    check_output(&consumed, "0\n");
    CU_ASSERT_TRUE(consumed.samples > 10);
}

/* Time that threads wait has weight, too: each of 80 lives much longer than it works. */
static void test_wall_clock(void)
{
    const struct consumer_settings wall = {
        .slice_bytes = 4096, .period_ns = 5000000, .clock = AGENT_CLOCK_WALL};
    const struct consumed one = run(&wall, "spin", 300), many = run(&wall, "live-threads", 80);
    CU_ASSERT_TRUE(one.weight_ns > one.process_ns * 6 / 10);
    CU_ASSERT_TRUE(one.samples > 10);
    CU_ASSERT_EQUAL(many.status, 0);
    CU_ASSERT_TRUE(many.threads_with_samples >= 60);
    CU_ASSERT_TRUE(many.weight_ns > 4 * many.process_ns);
}

/* More samples than ticks, and the same CPU time. */
static void test_fine_clock(void)
{
    const struct consumer_settings fine = {.clock = AGENT_CLOCK_FINE, .slice_bytes = 4096};
    const struct consumed consumed = run(&fine, "spin", 600);
    const double ticks = (double)consumed.process_ns / consumed.tick_ns;
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_TRUE(consumed.tick_ns < 4000000 || consumed.samples > 1.1 * ticks);
    CU_ASSERT_TRUE(consumed.weight_ns > consumed.process_ns / 2);
    CU_ASSERT_TRUE(consumed.weight_ns < consumed.process_ns + 2 * consumed.tick_ns + 100000000);
    CU_ASSERT_EQUAL(consumed.with_stack, consumed.samples);
    CU_ASSERT_EQUAL(run(&fine, "short-threads", 1000).exits, 1500);
    const struct consumed many = run(&fine, "live-threads", 600);
    CU_ASSERT_EQUAL(many.exits, 600);
    CU_ASSERT_TRUE(many.weight_ns > many.process_ns / 3);
}

/* The helper is no thread of the program's: it ends with the last of them, and forks, programs,
 * descriptors and waits are as without it. */
static void test_helper_is_not_noticed(void)
{
    static const char *const tasks[] = {"first-ends", "fork",        "raw-fork",     "programs",
                                        "clone",      "few-pending", "wait-for-all", "environment"};
    const struct consumer_settings fine = {.clock = AGENT_CLOCK_FINE, .slice_bytes = 4096},
                                   plain = {.slice_bytes = 4096};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const struct consumed with = run(&fine, tasks[i], 40), without = run(&plain, tasks[i], 40);
        CU_ASSERT_EQUAL(with.status, without.status);
        check_output(&with, without.output);
        CU_ASSERT_EQUAL(with.processes, without.processes);
        CU_ASSERT_EQUAL(with.exits, without.exits);
    }
}

static void test_threads_made_by_clone(void)
{
    const struct consumed consumed = run_plain("clone", 300);
    CU_ASSERT_EQUAL(consumed.forks, 1);
    CU_ASSERT_EQUAL(consumed.exits, 1);
    CU_ASSERT_TRUE(consumed.samples > 3);
    CU_ASSERT_EQUAL(consumed.with_stack, consumed.samples);
}

static void test_other_stacks(void)
{
    const struct consumed consumed = run_plain("other-stack", 0);
    CU_ASSERT_EQUAL(consumed.status, 0);
    CU_ASSERT_TRUE(consumed.samples > 3);
    CU_ASSERT_EQUAL(consumed.with_stack, consumed.samples);
}

/* A slice ends where the stack does, or where it was cut; it says which. */
static void test_deep_stacks(void)
{
    const struct consumer_settings all = {.slice_bytes = 64 << 10};
    const struct consumed whole = run(&all, "deep", 10), cut = run(&all, "deep", 40);
    CU_ASSERT_TRUE(whole.largest_stack > 10 * 4096 && whole.largest_stack < 60000);
    CU_ASSERT_TRUE(whole.cut < whole.samples); /* some are where the consumer gets no CPU */
    CU_ASSERT_TRUE(cut.cut > 3);
    CU_ASSERT_TRUE(cut.largest_stack <= AGENT_SLICE_MAX);
}

/* What a slice leaves over is copied beside the ring, however small that is. */
static void test_tails_of_stacks(void)
{
    const struct consumer_settings large = {.slice_bytes = 64 << 10, .tails = AGENT_TAILS},
                                   small = {.slice_bytes = 64 << 10, .tails = 2, .ring_shift = 4};
    const struct consumed deep = run(&large, "deep", 200), deepest = run(&large, "deep", 600),
                          narrow = run(&small, "deep", 40);
    CU_ASSERT_TRUE(deep.tails > 3 && deep.tails <= deep.cut);
    CU_ASSERT_TRUE(deep.largest_whole > 200 * 4096 && deep.largest_whole < 300 * 4096);
    CU_ASSERT_TRUE(deepest.tails > 3);
    CU_ASSERT_TRUE(deepest.largest_whole >= AGENT_TAIL_BYTES);
    CU_ASSERT_TRUE(deepest.largest_whole <= AGENT_TAIL_BYTES + AGENT_SLICE_MAX);
    CU_ASSERT_TRUE(narrow.tails > 3);
    CU_ASSERT_TRUE(narrow.largest_whole > 40 * 4096);
}

/* Rings of 16 KiB: stacks are cut before samples are lost, and no weight is. */
static void test_small_rings(void)
{
    const struct consumer_settings small = {.slice_bytes = 64 << 10, .ring_shift = 4};
    const struct consumed consumed = run(&small, "deep", 40);
    CU_ASSERT_TRUE(consumed.largest_stack < 8192);
    CU_ASSERT_TRUE(consumed.weight_ns > consumed.process_ns / 2);
}

static void test_pause(void)
{
    const struct consumer_settings pauses = {.slice_bytes = 4096, .pauses = 10};
    const struct consumed consumed = run(&pauses, "spin", 600);
    CU_ASSERT_TRUE(consumed.paused_ns >= 200000000);
    CU_ASSERT_TRUE(consumed.samples > 5);
    CU_ASSERT_TRUE(consumed.weight_ns < consumed.process_ns);
}

/* The program goes on as if nothing had been, and nothing is written any more. */
static void test_recorder_that_ends(void)
{
    const struct consumer_settings ends = {.slice_bytes = 4096, .ends_early = true};
    const struct consumed consumed = run(&ends, "go-on", 1500);
    CU_ASSERT_EQUAL(consumed.status, 0);
    check_output(&consumed, "begun\ndone\n");
    CU_ASSERT_TRUE(consumed.samples >= 20);
    CU_ASSERT_EQUAL(consumed.late_samples, 0);
}

#ifdef AGENT_SUBJECT_MUSL
static void test_another_libc(void)
{
    static const char *const tasks[] = {"spin", "short-threads", "fork", "programs",
                                        "wait-for-all"};
    const struct consumer_settings musl = {.program = AGENT_SUBJECT_MUSL, .slice_bytes = 4096};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        const struct consumed consumed = run(&musl, tasks[i], 70);
        CU_ASSERT_EQUAL(consumed.status, 0);
        CU_ASSERT_TRUE(consumed.samples > 3);
        CU_ASSERT_EQUAL(consumed.with_stack, consumed.samples);
    }
}
#endif

void sprof_suite_agent_preload(void);

void sprof_suite_agent_preload(void)
{
    CU_pSuite suite = CU_add_suite("agent/preload", NULL, NULL);
    CU_ADD_TEST(suite, test_one_thread);
    CU_ADD_TEST(suite, test_bare_samples);
    CU_ADD_TEST(suite, test_short_threads);
    CU_ADD_TEST(suite, test_long_period);
    CU_ADD_TEST(suite, test_many_live_threads);
    CU_ADD_TEST(suite, test_rings_of_the_smallest_size);
    CU_ADD_TEST(suite, test_few_pending_signals);
    CU_ADD_TEST(suite, test_fork);
    CU_ADD_TEST(suite, test_fork_behind_libc);
    CU_ADD_TEST(suite, test_all_ways_to_start_a_program);
    CU_ADD_TEST(suite, test_environment_and_descriptors_are_the_programs);
    CU_ADD_TEST(suite, test_waiting_for_all_signals);
    CU_ADD_TEST(suite, test_program_that_profiles_itself);
    CU_ADD_TEST(suite, test_program_with_a_handler);
    CU_ADD_TEST(suite, test_no_system_call_is_cut_short);
    CU_ADD_TEST(suite, test_wall_clock);
    CU_ADD_TEST(suite, test_fine_clock);
    CU_ADD_TEST(suite, test_helper_is_not_noticed);
    CU_ADD_TEST(suite, test_threads_made_by_clone);
    CU_ADD_TEST(suite, test_other_stacks);
    CU_ADD_TEST(suite, test_deep_stacks);
    CU_ADD_TEST(suite, test_tails_of_stacks);
    CU_ADD_TEST(suite, test_small_rings);
    CU_ADD_TEST(suite, test_pause);
    CU_ADD_TEST(suite, test_recorder_that_ends);
#ifdef AGENT_SUBJECT_MUSL
    CU_ADD_TEST(suite, test_another_libc);
#endif
}
