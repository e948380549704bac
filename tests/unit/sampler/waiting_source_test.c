/* Threads that wait, looked at by BPF beside the events that see those that work. */
#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What was waited by then; of its records, those with user's registers and stack, and with kernel
 * frames. */
struct waited {
    uint64_t ns, records, with_stack, with_chain;
};

static pid_t sleeper(void)
{
    const pid_t pid = fork();
    while (!pid)
        pause();
    live_wait_for(pid, 'S');
    return pid;
}

static struct sampler *open_on(const pid_t *pid, struct sampler_options options)
{
    struct sampler *sampler;
    options.clock = SAMPLER_CLOCK_WALL;
    options.pids = pid;
    options.pid_count = 1;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_STRING_EQUAL(sampler_facts(sampler)->events[0].name, "cpu-clock");
    CU_ASSERT_FALSE(sampler_facts(sampler)->may_miss_threads);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    return sampler;
}

static struct waited read_all(struct sampler *sampler, pid_t pid)
{
    struct waited waited = {0};
    for (const struct model_record *record; !sampler_next(sampler, &record);) {
        if (record->type != MODEL_RECORD_SAMPLE)
            continue;
        CU_ASSERT_EQUAL(record->pid, pid);
        waited.ns += record->sample.weight;
        waited.records++;
        waited.with_stack += record->sample.register_count && record->sample.stack_size;
        waited.with_chain += record->sample.in_kernel && record->sample.kernel_chain_count > 2;
    }
    return waited;
}

static struct waited add(struct waited one, struct waited other)
{
    return (struct waited){one.ns + other.ns, one.records + other.records,
                           one.with_stack + other.with_stack, one.with_chain + other.with_chain};
}

/* For that long, and until so many records have come; half a minute at most. */
static struct waited run_for(struct sampler *sampler, pid_t pid, uint64_t span_ns, uint64_t records)
{
    struct waited waited = {0};
    const uint64_t end_ns = sprof_clock_monotonic_ns() + span_ns, most_ns = end_ns + 30000000000;
    for (uint64_t now_ns = 0; now_ns < end_ns || (waited.records < records && now_ns < most_ns);
         now_ns = sprof_clock_monotonic_ns()) {
        waited = add(waited, read_all(sampler, pid));
        sampler_wait(sampler, 20, -1);
    }
    return waited;
}

/* All of the time but the pause, whatever else the machine does: what is waited is known exactly.
 */
static void test_all_time_but_a_pause(void)
{
    if (!live_is_root())
        return;
    const pid_t pid = sleeper();
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    struct sampler *sampler =
        open_on(&pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_FULL});
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    struct waited waited = run_for(sampler, pid, 300000000, 3);
    uint64_t pause_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_set_paused(sampler, true, NULL, NULL), 0);
    const uint64_t paused_ns = sprof_clock_monotonic_ns();
    waited = add(waited, read_all(sampler, pid));
    waited = add(waited, run_for(sampler, pid, 200000000, 0));
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(sampler_set_paused(sampler, false, NULL, NULL), 0);
    const uint64_t most_ns = sprof_clock_monotonic_ns() - paused_ns, least_ns = end_ns - paused_ns;
    CU_ASSERT_EQUAL(sampler_set_rate(sampler, 50, NULL, NULL), 0);
    waited = add(waited, run_for(sampler, pid, 300000000, 3));
    const uint64_t stop_ns = sprof_clock_monotonic_ns();
    sampler_stop(sampler);
    const uint64_t stopped_ns = sprof_clock_monotonic_ns();
    waited = add(waited, read_all(sampler, pid));
    pause_ns = most_ns + (paused_ns - pause_ns);
    CU_ASSERT_TRUE(waited.ns <= stopped_ns - before_ns - least_ns);
    CU_ASSERT_TRUE(waited.ns + pause_ns + 1000000 >= stop_ns - begun_ns);
    CU_ASSERT_TRUE(waited.records > 5);
    CU_ASSERT_EQUAL(waited.with_stack, waited.records);
    CU_ASSERT_EQUAL(waited.with_chain, waited.records);
    sampler_free(sampler);
    live_end(pid);
}

/* As much as the mode asks for: addresses alone, then the user's side without the kernel's. */
static void test_what_records_carry(void)
{
    if (!live_is_root())
        return;
    const pid_t pid = sleeper();
    struct sampler *sampler =
        open_on(&pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    struct waited waited = run_for(sampler, pid, 150000000, 1);
    CU_ASSERT_TRUE(waited.records > 0 && !waited.with_stack && !waited.with_chain);
    CU_ASSERT_EQUAL(sampler_set_capture(sampler, SAMPLER_CAPTURE_USER, NULL, NULL), 0);
    read_all(sampler, pid);
    run_for(sampler, pid, 50000000, 2); /* the last of the mode before */
    waited = run_for(sampler, pid, 150000000, 1);
    CU_ASSERT_TRUE(waited.records > 0 && !waited.with_chain);
    CU_ASSERT_EQUAL(waited.with_stack, waited.records);
    sampler_free(sampler);
    live_end(pid);
}

/* Threads that have all the CPU wait next to nothing: sprof itself takes it from them to look. */
static void test_threads_that_work(void)
{
    if (!live_is_root())
        return;
    const pid_t pid = live_spin("1", "100000", NULL);
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    struct sampler *sampler =
        open_on(&pid, (struct sampler_options){.capture = SAMPLER_CAPTURE_PC});
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    struct waited waited = run_for(sampler, pid, 1000000000, 0);
    const double least_ns = (double)(sprof_clock_monotonic_ns() - begun_ns);
    sampler_stop(sampler);
    const double most_ns = (double)(sprof_clock_monotonic_ns() - before_ns);
    waited = add(waited, read_all(sampler, pid));
    const double chance_ns = 5 * sqrt(most_ns / 1e9 * SAMPLER_WALL_HZ) / SAMPLER_WALL_HZ * 1e9;
    printf(" (%.2f of %.2f s)", (double)waited.ns / 1e9, most_ns / 1e9);
    CU_ASSERT_TRUE((double)waited.ns < 1.5 * most_ns + chance_ns);
    CU_ASSERT_TRUE((double)waited.ns > 0.6 * least_ns - chance_ns);
    sampler_free(sampler);
    live_end(pid);
}

static void test_impossible_requests(void)
{
    const pid_t pid = getpid();
    struct sampler_options options = {
        .clock = SAMPLER_CLOCK_WALL, .pids = &pid, .pid_count = 1, .event = "page-faults"};
    struct sampler *sampler;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(sampler_open(&sampler, &options, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "-e"));
    options.event = NULL;
    options.frequency_hz = SAMPLER_WALL_HZ_MAX + 1;
    CU_ASSERT_EQUAL(sampler_open(&sampler, &options, &error), SPROF_EUSAGE);
}

static int check_refusal(void)
{
    const pid_t pid = getpid();
    const struct sampler_options options = {
        .clock = SAMPLER_CLOCK_WALL, .pids = &pid, .pid_count = 1};
    struct sampler *sampler;
    struct sprof_error error = {0};
    LIVE_EXPECT(sampler_open(&sampler, &options, &error) == SPROF_EPERMISSION);
    LIVE_EXPECT(strstr(error.message, "CAP_BPF"));
    return 0;
}

static void test_an_ordinary_user_is_told_the_cure(void)
{
    if (live_is_root())
        CU_ASSERT_EQUAL(live_in_child(check_refusal, true), 0);
}

void sprof_suite_sampler_waiting_source(void);
void sprof_suite_sampler_waiting_source(void)
{
    CU_pSuite suite = CU_add_suite("sampler/waiting_source", NULL, NULL);
    CU_add_test(suite, "all time but a pause", test_all_time_but_a_pause);
    CU_add_test(suite, "what records carry", test_what_records_carry);
    CU_add_test(suite, "threads that work", test_threads_that_work);
    CU_add_test(suite, "impossible requests", test_impossible_requests);
    CU_add_test(suite, "an ordinary user is told the cure", test_an_ordinary_user_is_told_the_cure);
}
