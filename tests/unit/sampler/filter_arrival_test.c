#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <dirent.h>

/* Threads that were born before the programs were loaded go on being sampled, with all their time.
 */
static void test_threads_from_before_are_members(void)
{
    char *const command[] = {SAMPLER_SPIN, "4", "400", NULL};
    const struct sampler_options options = {
        .event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .command = command, .early = true};
    struct live live;
    if (!live_is_root())
        return;
    CU_ASSERT_EQUAL_FATAL(live_record(&options, 60, 0, &live, NULL), 0);
    CU_ASSERT_EQUAL(live.wait_status, 0);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_FORK] >= 3);
    CU_ASSERT_TRUE(live.cpu_time_ns > 1500000000);
    CU_ASSERT_TRUE(live_weight_fits(live.weight, 997, live.target_ns));
    CU_ASSERT_EQUAL(live.out_of_order, 0);
}

struct seen {
    uint64_t samples, of_others, with_tail;
};

/* Samples of the command until so many had a part of their stack that the kernel captured. */
static void see_until_captured(struct sampler *sampler, uint64_t enough, struct seen *seen)
{
    const uint64_t end_ns = sprof_clock_monotonic_ns() + 60000000000;
    const pid_t pid = sampler_facts(sampler)->command_pid;
    while (seen->with_tail < enough && sprof_clock_monotonic_ns() < end_ns) {
        sampler_wait(sampler, 10, -1);
        for (const struct model_record *record; !sampler_next(sampler, &record);) {
            if (record->type != MODEL_RECORD_SAMPLE)
                continue;
            seen->samples++;
            seen->of_others += record->pid != pid;
            seen->with_tail += record->sample.tail_with_sample;
        }
    }
}

/* What the kernel does not filter at first is filtered all the same, while others keep all CPUs
 * busy; and deep stacks are captured as soon as they can be. */
static void test_programs_arrive(void)
{
    char *const command[] = {SAMPLER_DEEP, NULL};
    const struct sampler_options options = {
        .event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .command = command, .early = true};
    struct sampler *sampler;
    struct seen seen = {0};
    if (!live_is_root())
        return;
    const pid_t stranger = live_spin("2", "100000", NULL);
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool filtered = live_scope(sampler_facts(sampler)) == SAMPLER_SCOPE_CPU_FILTERED;
    const pid_t pid = sampler_facts(sampler)->command_pid;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    if (filtered)
        see_until_captured(sampler, 30, &seen);
    live_end(pid);
    live_end(stranger);
    sampler_free(sampler);
    if (!filtered) {
        sprof_test_skip("samples cannot be filtered in the kernel here");
        return;
    }
    CU_ASSERT_TRUE(seen.with_tail >= 30);
    CU_ASSERT_EQUAL(seen.of_others, 0);
}

static size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

/* A command that ends at once takes what is being loaded with it, whenever that is. */
static void test_short_commands_leave_nothing(void)
{
    char *const command[] = {"/bin/true", NULL};
    const struct sampler_options options = {
        .event = "cpu-clock", .capture = SAMPLER_CAPTURE_USER, .command = command, .early = true};
    const size_t before = open_descriptors();
    struct live live;
    if (!live_is_root())
        return;
    for (int i = 0; i < 25; i++) {
        CU_ASSERT_EQUAL_FATAL(live_record(&options, 60, 0, &live, NULL), 0);
        CU_ASSERT_EQUAL(live.wait_status, 0);
        CU_ASSERT_EQUAL(live.execs, 1);
        CU_ASSERT_EQUAL(live.lost, 0);
    }
    CU_ASSERT_EQUAL(open_descriptors(), before);
}

void sprof_suite_sampler_filter_arrival(void);
void sprof_suite_sampler_filter_arrival(void)
{
    CU_pSuite suite = CU_add_suite("sampler/filter_arrival", NULL, NULL);
    CU_add_test(suite, "threads from before are members", test_threads_from_before_are_members);
    CU_add_test(suite, "programs arrive", test_programs_arrive);
    CU_add_test(suite, "short commands leave nothing", test_short_commands_leave_nothing);
}
