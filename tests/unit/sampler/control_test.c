/* Pausing, and changing rate and content, while a thread that never rests is sampled. */
#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HZ = 997 };

/* What came between two moments. */
struct span {
    uint64_t samples, with_stack, weight_ns, others, most_stack_bytes;
};

/* What was read so far. */
static struct {
    uint64_t time_ns, weight_ns, stack_bytes;
    bool is_sample, with_stack;
} seen[20000];
static size_t seen_count;

static struct sampler *open_on(const pid_t *pid, struct sampler_options options)
{
    struct sampler *sampler;
    options.event = "cpu-clock";
    options.pids = pid;
    options.pid_count = 1;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    seen_count = 0;
    return sampler;
}

static void read_all(struct sampler *sampler)
{
    for (const struct model_record *record; !sampler_next(sampler, &record);) {
        if (record->before_start || seen_count == sizeof seen / sizeof *seen)
            continue;
        seen[seen_count].is_sample = record->type == MODEL_RECORD_SAMPLE;
        seen[seen_count].time_ns = record->time_ns;
        if (seen[seen_count++].is_sample) {
            seen[seen_count - 1].weight_ns = record->sample.weight;
            seen[seen_count - 1].with_stack =
                record->sample.register_count && record->sample.stack_size;
            seen[seen_count - 1].stack_bytes = record->sample.stack_size;
        }
    }
}

static void run_for(struct sampler *sampler, uint64_t span_ns)
{
    const uint64_t end_ns = sprof_clock_monotonic_ns() + span_ns;
    while (sprof_clock_monotonic_ns() < end_ns) {
        read_all(sampler);
        sampler_wait(sampler, 5, -1);
    }
}

/* Goes on until the target has used that much more of the CPU, whatever else the machine does. */
static void run_for_cpu(struct sampler *sampler, uint64_t cpu_ns)
{
    const uint64_t wanted_ns = sampler_target_cpu_ns(sampler) + cpu_ns;
    for (int i = 0; i < 3000 && sampler_target_cpu_ns(sampler) < wanted_ns; i++)
        run_for(sampler, 10000000);
}

/* Goes on until something other than a sample has come: the launched command may not have had a CPU
 * yet. */
static void run_for_others(struct sampler *sampler)
{
    bool come = false;
    for (int i = 0; i < 3000 && !come; i++) {
        run_for(sampler, 10000000);
        for (size_t at = 0; at < seen_count && !come; at++)
            come = !seen[at].is_sample;
    }
}

/* Reads what is left of a stopped sampler, and adds up by the changes that lie before each record.
 */
static void sort_out(struct sampler *sampler, const uint64_t *changes_ns, size_t count,
                     struct span *spans)
{
    read_all(sampler);
    CU_ASSERT_TRUE(seen_count < sizeof seen / sizeof *seen);
    for (size_t i = 0; i < seen_count; i++) {
        size_t at = 0;
        while (at < count && seen[i].time_ns >= changes_ns[at])
            at++;
        spans[at].samples += seen[i].is_sample;
        spans[at].others += !seen[i].is_sample;
        spans[at].weight_ns += seen[i].is_sample ? seen[i].weight_ns : 0;
        spans[at].with_stack += seen[i].is_sample && seen[i].with_stack;
        if (seen[i].is_sample && seen[i].stack_bytes > spans[at].most_stack_bytes)
            spans[at].most_stack_bytes = seen[i].stack_bytes;
    }
}

/* The weights are the time used, once. Where this process did not run for long, samples did not fit
 * into the rings: without a filter most of them are of others, so that they may explain what is
 * missing, but not be added to what came. */
static void check_weight(struct sampler *sampler, uint64_t weight_ns, double hz, uint64_t cpu_ns)
{
    const double lost_ns = (double)sampler_counters(sampler).lost * 1e9 / hz;
    const bool fits = live_weight_fits(weight_ns, hz, cpu_ns);
    const bool is_lost = weight_ns < cpu_ns && (double)weight_ns + lost_ns >= 0.5 * (double)cpu_ns;
    if (!fits)
        printf(" (weights of %.3f s, %.0f samples lost, CPU time %.3f s)", (double)weight_ns / 1e9,
               lost_ns * hz / 1e9, (double)cpu_ns / 1e9);
    CU_ASSERT_TRUE(fits || is_lost);
}

static void check_all_is_weighed(struct sampler *sampler, const struct span *spans, size_t count,
                                 uint64_t cpu_ns)
{
    uint64_t weight_ns = 0;
    for (size_t i = 0; i < count; i++)
        weight_ns += spans[i].weight_ns;
    check_weight(sampler, weight_ns, HZ, cpu_ns);
}

/* In each scope: nothing of the pause, and its time in nobody's account. */
static void check_pause(enum sampler_scope scope, bool begins_paused)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    struct sampler *sampler =
        open_on(&pid, (struct sampler_options){.minimum_scope = scope, .paused = begins_paused});
    uint64_t changes_ns[3], cpu_ns[3];
    struct span spans[4] = {0};
    changes_ns[0] = 0;
    if (!begins_paused) {
        run_for(sampler, 400000000);
        CU_ASSERT_EQUAL(sampler_set_paused(sampler, true, &changes_ns[0], NULL), 0);
        CU_ASSERT_EQUAL(sampler_set_paused(sampler, true, NULL, NULL), 0);
    }
    cpu_ns[0] = sampler_target_cpu_ns(sampler);
    run_for(sampler, 400000000);
    cpu_ns[1] = sampler_target_cpu_ns(sampler);
    CU_ASSERT_EQUAL(sampler_set_paused(sampler, false, &changes_ns[1], NULL), 0);
    run_for_cpu(sampler, 400000000); /* longer than may pass between events and counters */
    sampler_stop(sampler);
    cpu_ns[2] = sampler_target_cpu_ns(sampler);
    changes_ns[2] = UINT64_MAX;
    sort_out(sampler, changes_ns, 3, spans);
    CU_ASSERT_EQUAL(spans[1].samples, 0);
    CU_ASSERT_TRUE(spans[2].samples > 20);
    CU_ASSERT_TRUE(cpu_ns[1] - cpu_ns[0] < 1000000); /* what the calls took */
    CU_ASSERT_TRUE(cpu_ns[2] - cpu_ns[1] > 30000000);
    CU_ASSERT_EQUAL(sampler_unseen_cpu_ns(sampler), 0);
    check_all_is_weighed(sampler, &spans[2], 1, cpu_ns[2] - cpu_ns[1]);
    sampler_free(sampler);
    live_end(pid);
}

static void test_pauses(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++) {
        check_pause(scope, false);
        check_pause(scope, true);
    }
}

/* A command that is launched into a pause, which ends while it runs. */
static void test_a_command_begins_paused(void)
{
    char *const command[] = {SAMPLER_SPIN, "1", "100000", NULL};
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++) {
        const struct sampler_options options = {
            .event = "cpu-clock", .command = command, .paused = true, .minimum_scope = scope};
        struct sampler *sampler;
        CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
        CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
        seen_count = 0;
        run_for_others(sampler);
        run_for(sampler, 50000000);
        CU_ASSERT_EQUAL(sampler_target_cpu_ns(sampler), 0);
        uint64_t changed_ns;
        CU_ASSERT_EQUAL(sampler_set_paused(sampler, false, &changed_ns, NULL), 0);
        run_for_cpu(sampler, 100000000);
        CU_ASSERT_TRUE(sampler_target_cpu_ns(sampler) > 10000000);
        const pid_t pid = sampler_facts(sampler)->command_pid;
        sampler_stop(sampler);
        struct span spans[2] = {0};
        sort_out(sampler, &changed_ns, 1, spans);
        CU_ASSERT_EQUAL(spans[0].samples, 0);
        CU_ASSERT_TRUE(spans[0].others > 0); /* the execve and its mappings */
        CU_ASSERT_TRUE(spans[1].samples > 10);
        sampler_free(sampler);
        live_end(pid);
    }
}

/* Goes from a rate or a period to 4999 Hz: the rate changes, the time does not. (This process may
 * have no CPU for a while between a change and a look at the CPU time, and while the rings fill.)
 */
static void check_rate(enum sampler_scope scope, uint64_t frequency_hz, uint64_t period)
{
    const pid_t pid = live_spin("2", "100000", NULL);
    struct sampler *sampler =
        open_on(&pid, (struct sampler_options){
                          .minimum_scope = scope, .frequency_hz = frequency_hz, .period = period});
    uint64_t change_ns;
    struct span spans[2] = {0};
    run_for(sampler, 500000000);
    const uint64_t before_ns = sampler_target_cpu_ns(sampler);
    CU_ASSERT_EQUAL(sampler_set_rate(sampler, 4999, &change_ns, NULL), 0);
    const uint64_t after_ns = sampler_target_cpu_ns(sampler);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->frequency_hz, 4999);
    CU_ASSERT_TRUE(sampler_facts(sampler)->events[0].varying_period);
    run_for_cpu(sampler, 300000000);
    sampler_stop(sampler);
    const uint64_t all_ns = sampler_target_cpu_ns(sampler);
    sort_out(sampler, &change_ns, 1, spans);
    check_weight(sampler, spans[0].weight_ns + spans[1].weight_ns, HZ / 2., all_ns);
    const uint64_t lost_ns = sampler_counters(sampler).lost * (1000000000 / 4999);
    CU_ASSERT_TRUE(live_count_lies(spans[1].samples, 4999,
                                   all_ns > after_ns + lost_ns ? all_ns - after_ns - lost_ns : 0,
                                   all_ns - before_ns));
    sampler_free(sampler);
    live_end(pid);
}

static void test_rates(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++) {
        check_rate(scope, HZ, 0);
        check_rate(scope, 0, 2000000);
    }
}

/* Threads that begin and end while the events of all threads are replaced again and again: the
 * kernel tells of each once, and those that live long have all of their time. */
static void test_events_of_threads_are_replaced_while_threads_begin(void)
{
    char *const command[] = {SAMPLER_SPIN, "3", "300", "hatch", NULL};
    const struct sampler_options options = {
        .event = "cpu-clock", .command = command, .minimum_scope = SAMPLER_SCOPE_TASK};
    struct sampler *sampler;
    uint64_t forks = 0, exits = 0, changes = 0;
    double weight_ns = 0;
    int status;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    for (bool ended = false; !ended;) {
        ended = sampler_targets_ended(sampler, &status);
        if (ended)
            sampler_stop(sampler);
        else if (sampler_target_cpu_ns(sampler) > changes * 20000000 + 20000000)
            CU_ASSERT_EQUAL(sampler_set_rate(sampler, HZ + changes++ % 2 * 3 * HZ, NULL, NULL), 0);
        for (const struct model_record *record; !sampler_next(sampler, &record);) {
            forks += record->type == MODEL_RECORD_FORK;
            exits += record->type == MODEL_RECORD_EXIT;
            weight_ns += record->type == MODEL_RECORD_SAMPLE ? (double)record->sample.weight : 0;
        }
        if (!ended)
            sampler_wait(sampler, 5, -1);
    }
    const double all_ns = (double)sampler_target_cpu_ns(sampler);
    printf(" (%.1f %% of %.2f s, %llu changes)", 100 * weight_ns / all_ns, all_ns / 1e9,
           (unsigned long long)changes);
    CU_ASSERT_TRUE(changes > 3);
    CU_ASSERT_EQUAL(sampler_counters(sampler).lost, 0);
    CU_ASSERT_EQUAL(forks, 2 + 300);
    CU_ASSERT_EQUAL(exits, 1 + 2 + 300);
    CU_ASSERT_TRUE(weight_ns > 0.3 * all_ns && weight_ns < 1.5 * all_ns);
    sampler_free(sampler);
}

static void test_impossible_rates(void)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    struct sampler *sampler = open_on(&pid, (struct sampler_options){0});
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(sampler_set_rate(sampler, 4000000000, NULL, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "perf_event_max_sample_rate"));
    CU_ASSERT_EQUAL(sampler_facts(sampler)->frequency_hz, HZ);
    sampler_free(sampler);
    live_end(pid);
}

/* From addresses to whole stacks and back: each sample has what its time asked for, and none is
 * missing or there twice. */
static void check_what_samples_carry(enum sampler_scope scope)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    struct sampler *sampler = open_on(
        &pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_PC, .minimum_scope = scope});
    const size_t ring_bytes = sampler_facts(sampler)->ring_bytes;
    uint64_t changes_ns[4]; /* before and after each of two calls */
    struct span spans[5] = {0};
    run_for_cpu(sampler, 200000000);
    changes_ns[0] = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_set_capture(sampler, SAMPLER_CAPTURE_FULL, &changes_ns[1], NULL), 0);
    /* As if it had begun that way: rings with room for whole slices. */
    CU_ASSERT_TRUE(sampler_facts(sampler)->ring_bytes > ring_bytes);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->stack_bytes,
                    sampler_facts(sampler)->stack_bytes_wanted);
    run_for_cpu(sampler, 200000000);
    CU_ASSERT_EQUAL(sampler_set_capture(sampler, SAMPLER_CAPTURE_PC, &changes_ns[2], NULL), 0);
    changes_ns[3] = sprof_clock_monotonic_ns();
    run_for_cpu(sampler, 200000000);
    sampler_stop(sampler);
    const uint64_t all_ns = sampler_target_cpu_ns(sampler);
    sort_out(sampler, changes_ns, 4, spans);
    CU_ASSERT_TRUE(spans[0].samples > 20 && spans[0].with_stack == 0);
    CU_ASSERT_TRUE(spans[2].samples > 20 && spans[2].with_stack == spans[2].samples);
    CU_ASSERT_TRUE(spans[4].samples > 20 && spans[4].with_stack == 0);
    check_all_is_weighed(sampler, spans, 5, all_ns);
    sampler_free(sampler);
    live_end(pid);
}

/* Larger rings beside the old ones keep within the budget; slices fit what is left. */
static void test_larger_rings_within_the_budget(void)
{
    const size_t budget = (size_t)sysconf(_SC_NPROCESSORS_ONLN) << 20;
    const pid_t pid = live_spin("1", "100000", NULL);
    struct sampler *sampler = open_on(
        &pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_PC, .ring_budget_bytes = budget});
    CU_ASSERT_EQUAL(sampler_set_capture(sampler, SAMPLER_CAPTURE_FULL, NULL, NULL), 0);
    CU_ASSERT_TRUE(sampler_facts(sampler)->ring_bytes <= budget);
    CU_ASSERT_TRUE(sampler_facts(sampler)->stack_bytes > 0);
    sampler_free(sampler);
    live_end(pid);
}

static void test_what_samples_carry(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++)
        check_what_samples_carry(scope);
}

/* A shorter slice, and the first one again: each sample has what its time asked for, and all of the
 * time is weighed once. */
static void check_slices(enum sampler_scope scope)
{
    const pid_t pid = live_spin("1", "100000", NULL);
    struct sampler *sampler = open_on(
        &pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_USER, .minimum_scope = scope});
    const size_t whole = sampler_facts(sampler)->stack_bytes;
    uint64_t changes_ns[4]; /* before and after each of two calls */
    struct span spans[5] = {0};
    run_for_cpu(sampler, 100000000);
    changes_ns[0] = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_set_slice(sampler, 256, &changes_ns[1], NULL), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->stack_bytes, 256);
    run_for_cpu(sampler, 200000000);
    changes_ns[2] = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_set_slice(sampler, 1 << 20, &changes_ns[3], NULL), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->stack_bytes, whole);
    run_for_cpu(sampler, 200000000);
    sampler_stop(sampler);
    const uint64_t all_ns = sampler_target_cpu_ns(sampler);
    sort_out(sampler, changes_ns, 4, spans);
    CU_ASSERT_TRUE(spans[0].most_stack_bytes > 256);
    CU_ASSERT_TRUE(spans[2].samples > 20 && spans[2].with_stack == spans[2].samples);
    CU_ASSERT_TRUE(spans[2].most_stack_bytes > 0 && spans[2].most_stack_bytes <= 256);
    CU_ASSERT_TRUE(spans[4].samples > 20 && spans[4].most_stack_bytes > 256);
    check_all_is_weighed(sampler, spans, 5, all_ns);
    sampler_free(sampler);
    live_end(pid);
}

static void test_slices(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++)
        check_slices(scope);
}

void sprof_suite_sampler_control(void);
void sprof_suite_sampler_control(void)
{
    CU_pSuite suite = CU_add_suite("sampler/control", NULL, NULL);
    CU_add_test(suite, "pauses", test_pauses);
    CU_add_test(suite, "a command begins paused", test_a_command_begins_paused);
    CU_add_test(suite, "rates", test_rates);
    CU_add_test(suite, "events of threads are replaced while threads begin",
                test_events_of_threads_are_replaced_while_threads_begin);
    CU_add_test(suite, "impossible rates", test_impossible_rates);
    CU_add_test(suite, "what samples carry", test_what_samples_carry);
    CU_add_test(suite, "larger rings within the budget", test_larger_rings_within_the_budget);
    CU_add_test(suite, "slices", test_slices);
}
