/* The source of agents with real programs, and with a target that lies. */
#include "sampler/agent/sigprof_source.h"
#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct live record(char *const *command, struct sampler_options options)
{
    struct live live;
    struct sprof_error error = {0};
    options.command = command;
    options.source = "sigprof";
    CU_ASSERT_EQUAL(live_record(&options, 60, 0, &live, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    return live;
}

static void test_facts(void)
{
    char *const command[] = {"/bin/true", NULL};
    const struct live live = record(command, (struct sampler_options){.frequency_hz = 499});
    CU_ASSERT_PTR_NOT_NULL(strstr(live.facts.source, "SIGPROF agent"));
    CU_ASSERT_STRING_EQUAL(live.event.name, "cpu-clock");
    CU_ASSERT_EQUAL(live.facts.weights, SAMPLER_WEIGHTS_TICK);
    CU_ASSERT_TRUE(live.event.is_clock && live.event.varying_period);
    CU_ASSERT_EQUAL(live.facts.frequency_hz, 499);
    CU_ASSERT_EQUAL(live.facts.stack_bytes, 0); /* addresses only */
    CU_ASSERT_EQUAL(live.wait_status, 0);
    CU_ASSERT_EQUAL(live.counters.agents, 1);
    CU_ASSERT_EQUAL(live.execs, 1);
    CU_ASSERT_EQUAL(live.out_of_order, 0);
}

/* No timer of the kernel's fires more often than it ticks; the helper does, and so does time. */
static void test_what_is_due(void)
{
    struct sigprof_source source = {
        .clock = SAMPLER_CLOCK_CPU, .tick_ns = 4000000, .period_ns = 1003009};
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 4000000);
    source.period_ns = 5999999; /* asks for the tick */
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 4000000);
    source.period_ns = 10000000;
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 10000000);
    source.fine = true;
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 10000000);
    source.period_ns = 1003009;
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 1003009);
    source.clock = SAMPLER_CLOCK_WALL;
    CU_ASSERT_EQUAL(sigprof_due_ns(&source), 0);
}

/* One thread's samples, births, ends and CPU times. */
static void test_threads(void)
{
    char *const command[] = {(char *)SAMPLER_SPIN, "3", "150", NULL};
    const struct live live = record(command, (struct sampler_options){
                                                 .capture = SAMPLER_CAPTURE_FULL,
                                             });
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_SAMPLE] > 10);
    CU_ASSERT_EQUAL(live.with_stack, live.records[MODEL_RECORD_SAMPLE]);
    CU_ASSERT_EQUAL(live.in_kernel, 0);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_FORK] >= 2);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_EXIT] >= live.records[MODEL_RECORD_FORK]);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_MMAP] >= 3);
    CU_ASSERT_TRUE(live.target_ns >= 400000000);
    CU_ASSERT_TRUE(live.cpu_time_ns >= 400000000);
    CU_ASSERT_TRUE(live.weight > live.target_ns / 2 && live.weight < live.target_ns * 5 / 4);
    CU_ASSERT_EQUAL(live.lost, 0);
}

static int code_of(struct sampler_options options)
{
    struct sampler *sampler;
    struct sprof_error error = {0};
    options.source = "sigprof";
    const int result = sampler_open(&sampler, &options, &error);
    CU_ASSERT_TRUE(!result || *error.message);
    if (!result)
        sampler_free(sampler);
    return result;
}

static void test_what_it_cannot_do(void)
{
    char *const command[] = {"/bin/true", NULL}, *const nothing[] = {"/nowhere", NULL};
    const pid_t self = getpid();
    CU_ASSERT_EQUAL(code_of((struct sampler_options){.command = command}), 0);
    CU_ASSERT_EQUAL(code_of((struct sampler_options){.pids = &self, .pid_count = 1}), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(code_of((struct sampler_options){.command = command, .event = "page-faults"}),
                    SPROF_EUSAGE);
    CU_ASSERT_EQUAL(code_of((struct sampler_options){.command = command, .frequency_hz = 2000000}),
                    SPROF_EUSAGE);
    CU_ASSERT_EQUAL(code_of((struct sampler_options){.command = nothing}), SPROF_ENOCOMMAND);
}

/* It takes the place of perf events for a command, where nothing was asked for that it cannot do.
 */
static void test_when_it_stands_in(void)
{
    char *const command[] = {"/bin/true", NULL};
    const struct source_kind *kind = &sampler_sigprof_kind;
    CU_ASSERT_TRUE(kind->stands_in(&(struct sampler_options){.command = command}));
    CU_ASSERT_FALSE(kind->stands_in(&(struct sampler_options){.tid = 1}));
    CU_ASSERT_FALSE(
        kind->stands_in(&(struct sampler_options){.command = command, .event = "cpu-clock"}));
    CU_ASSERT_FALSE(kind->stands_in(&(struct sampler_options){.command = command, .period = 5}));
}

/* A command that lives on when its recording ends, and one that is never started. */
static void test_ends(void)
{
    char *const command[] = {(char *)SAMPLER_SPIN, "1", "100000", NULL};
    struct sampler *sampler;
    struct sprof_error error = {0};
    const struct sampler_options options = {.command = command, .source = "sigprof"};
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, &error), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, &error), 0);
    const struct model_record *next;
    unsigned samples = 0;
    for (int i = 0; i < 2000 && samples < 5; i++) {
        CU_ASSERT_EQUAL(sampler_wait(sampler, 100, -1), 0);
        while (sampler_next(sampler, &next) == 0)
            samples += next->type == MODEL_RECORD_SAMPLE;
    }
    sampler_stop(sampler);
    unsigned cpu_times = 0, exits = 0;
    while (sampler_next(sampler, &next) == 0) {
        cpu_times += next->type == MODEL_RECORD_CPU_TIME;
        exits += next->type == MODEL_RECORD_EXIT;
    }
    CU_ASSERT_EQUAL(samples >= 5, 1);
    CU_ASSERT_TRUE(cpu_times >= 1);
    CU_ASSERT_EQUAL(exits, 0);
    const pid_t pid = sampler_facts(sampler)->command_pid;
    CU_ASSERT_FALSE(sampler_targets_ended(sampler, NULL));
    kill(pid, SIGKILL);
    while (!sampler_targets_ended(sampler, NULL))
        sampler_wait(sampler, 100, -1);
    sampler_free(sampler);
}

/* Takes what there is until so many samples from after `since_ns` have come; returns the time of
 * the last. */
static uint64_t take_samples(struct sampler *sampler, uint64_t since_ns, unsigned wanted,
                             unsigned *with_stack)
{
    const struct model_record *next;
    uint64_t last_ns = 0;
    unsigned samples = 0;
    *with_stack = 0;
    for (int i = 0; i < 3000 && samples < wanted; i++) {
        CU_ASSERT_EQUAL(sampler_wait(sampler, 20, -1), 0);
        while (sampler_next(sampler, &next) == 0)
            if (next->type == MODEL_RECORD_SAMPLE && next->time_ns >= since_ns) {
                samples++;
                *with_stack += next->sample.stack_size > 0;
                last_ns = next->time_ns;
            }
    }
    CU_ASSERT_TRUE(samples >= wanted);
    return last_ns;
}

/* The largest slice of the samples from after `since_ns`: of so many, or up to one beyond `enough`.
 */
static size_t largest_slice(struct sampler *sampler, uint64_t since_ns, unsigned wanted,
                            size_t enough)
{
    const struct model_record *next;
    unsigned samples = 0;
    size_t largest = 0;
    for (int i = 0; i < 3000 && samples < wanted && largest <= enough; i++) {
        CU_ASSERT_EQUAL(sampler_wait(sampler, 20, -1), 0);
        while (sampler_next(sampler, &next) == 0) {
            if (next->type != MODEL_RECORD_SAMPLE || next->time_ns < since_ns)
                continue;
            samples++;
            if (next->sample.stack_size > largest)
                largest = next->sample.stack_size;
        }
    }
    return largest;
}

/* A shorter slice reaches the agent, and the first one again. (The depth of the program's stacks
 * may be in step with the samples for a while.) */
static void test_slices(void)
{
    char *const command[] = {SAMPLER_DEEP, NULL};
    const struct sampler_options options = {
        .command = command, .source = "sigprof", .capture = SAMPLER_CAPTURE_USER};
    struct sampler *sampler;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    const size_t whole = sampler_facts(sampler)->stack_bytes;
    CU_ASSERT_TRUE(largest_slice(sampler, 0, UINT_MAX, 4096) > 4096);
    CU_ASSERT_EQUAL(sampler_set_slice(sampler, 4096, NULL, NULL), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->stack_bytes, 4096);
    /* An expiry that had begun may take a while on a busy machine. */
    const uint64_t since_ns = sprof_clock_monotonic_ns() + 200000000;
    const size_t shorter = largest_slice(sampler, since_ns, 60, 4096);
    CU_ASSERT_TRUE(shorter > 0 && shorter <= 4096);
    CU_ASSERT_EQUAL(sampler_set_slice(sampler, 1 << 20, NULL, NULL), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->stack_bytes, whole);
    CU_ASSERT_TRUE(largest_slice(sampler, sprof_clock_monotonic_ns(), UINT_MAX, 4096) > 4096);
    const pid_t pid = sampler_facts(sampler)->command_pid;
    kill(pid, SIGKILL);
    while (!sampler_targets_ended(sampler, NULL))
        sampler_wait(sampler, 100, -1);
    sampler_free(sampler);
}

static void test_changes_while_it_runs(void)
{
    char *const command[] = {(char *)SAMPLER_SPIN, "2", "100000", NULL};
    const struct sampler_options options = {
        .command = command, .source = "sigprof", .paused = true};
    struct sampler *sampler;
    struct sprof_error error = {0};
    const struct model_record *next;
    unsigned with_stack;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, &error), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, &error), 0);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(sampler_wait(sampler, 20, -1), 0);
        while (sampler_next(sampler, &next) == 0)
            CU_ASSERT_NOT_EQUAL(next->type, MODEL_RECORD_SAMPLE);
    }
    CU_ASSERT_EQUAL(sampler_target_cpu_ns(sampler), 0);
    uint64_t begun_ns, paused_ns;
    CU_ASSERT_EQUAL(sampler_set_paused(sampler, false, &begun_ns, &error), 0);
    CU_ASSERT_TRUE(take_samples(sampler, 0, 20, &with_stack) > begun_ns);
    CU_ASSERT_EQUAL(with_stack, 0);
    CU_ASSERT_EQUAL(sampler_set_capture(sampler, SAMPLER_CAPTURE_FULL, NULL, &error), 0);
    take_samples(sampler, sprof_clock_monotonic_ns(), 20, &with_stack);
    CU_ASSERT_TRUE(with_stack >= 10);
    CU_ASSERT_TRUE(sampler_facts(sampler)->stack_bytes > 0);
    CU_ASSERT_EQUAL(sampler_set_rate(sampler, 50, NULL, &error), 0);
    CU_ASSERT_EQUAL(sampler_facts(sampler)->frequency_hz, 50);
    take_samples(sampler, sprof_clock_monotonic_ns(), 10, &with_stack);
    CU_ASSERT_EQUAL(sampler_set_rate(sampler, 0, NULL, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(sampler_set_paused(sampler, true, &paused_ns, &error), 0);
    const uint64_t used_ns = sampler_target_cpu_ns(sampler);
    CU_ASSERT_TRUE(used_ns > 0);
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(sampler_wait(sampler, 20, -1), 0);
        while (sampler_next(sampler, &next) == 0)
            CU_ASSERT_TRUE(next->type != MODEL_RECORD_SAMPLE || next->time_ns <= paused_ns);
    }
    CU_ASSERT_EQUAL(sampler_target_cpu_ns(sampler), used_ns);
    kill(sampler_facts(sampler)->command_pid, SIGKILL);
    while (!sampler_targets_ended(sampler, NULL))
        sampler_wait(sampler, 100, -1);
    sampler_free(sampler);
}

void sprof_suite_sampler_sigprof_source(void);

void sprof_suite_sampler_sigprof_source(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_source", NULL, NULL);
    CU_ADD_TEST(suite, test_facts);
    CU_ADD_TEST(suite, test_what_is_due);
    CU_ADD_TEST(suite, test_threads);
    CU_ADD_TEST(suite, test_what_it_cannot_do);
    CU_ADD_TEST(suite, test_when_it_stands_in);
    CU_ADD_TEST(suite, test_ends);
    CU_ADD_TEST(suite, test_slices);
    CU_ADD_TEST(suite, test_changes_while_it_runs);
}
