/* Clock events in front of a thread that never rests: whether work in step with the interval is met
 * at its share, and whether weights add up to the time used. */
#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 1003009, HZ = 997 }; /* what 997 Hz give */

static pid_t pinned_spinner(void)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    const pid_t pid = fork();
    if (!pid) {
        sched_setaffinity(0, sizeof one, &one);
        for (volatile unsigned spins = 0;; spins++)
            ;
    }
    return pid;
}

/* What was seen between two looks at the clock of the spinner. */
struct span {
    uint64_t end_ns, cpu_ns;
    double weight_ns, in_step_ns; /* of samples in the first fifth of a period of the work */
    unsigned samples;
};

static uint64_t cpu_ns_of(pid_t pid)
{
    clockid_t clock;
    struct timespec time = {0};
    if (!clock_getcpuclockid(pid, &clock))
        clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Samples for `count` spans of `span_ns` each; spans[0] only marks the beginning. */
static bool watch(struct sampler_options options, struct span *spans, size_t count,
                  uint64_t span_ns)
{
    const pid_t pid = pinned_spinner();
    struct sampler *sampler;
    options.event = "cpu-clock";
    options.pids = &pid;
    options.pid_count = 1;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool jitters = live_scope(sampler_facts(sampler)) != SAMPLER_SCOPE_TASK;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    for (size_t i = 0; i <= count; i++) {
        const uint64_t end_ns = sprof_clock_monotonic_ns() + (i ? span_ns : 20000000);
        while (sprof_clock_monotonic_ns() < end_ns)
            sampler_wait(sampler, 5, -1);
        spans[i] = (struct span){.end_ns = sprof_clock_monotonic_ns(), .cpu_ns = cpu_ns_of(pid)};
        usleep(2000); /* until all records up to then are surely in order */
        sampler_wait(sampler, 0, -1);
    }
    sampler_stop(sampler);
    size_t at = 0;
    for (const struct model_record *record; !sampler_next(sampler, &record);) {
        while (at <= count && record->time_ns > spans[at].end_ns)
            at++;
        if (record->type != MODEL_RECORD_SAMPLE || at > count)
            continue;
        const double weight_ns = (double)record->sample.weight;
        spans[at].samples++;
        spans[at].weight_ns += weight_ns;
        spans[at].in_step_ns += record->time_ns % PERIOD_NS < PERIOD_NS / 5 ? weight_ns : 0;
    }
    sampler_free(sampler);
    live_end(pid);
    return jitters;
}

/* Work that takes the first fifth of each interval, beside the same without jitter: there the timer
 * meets it always or never, or it stands at its very edge. */
static void test_work_in_step_with_the_interval(void)
{
    struct span spans[2];
    if (!watch((struct sampler_options){.frequency_hz = HZ}, spans, 1, 3000000000)) {
        sprof_test_skip("no events of whole CPUs");
        return;
    }
    const double share = spans[1].in_step_ns / spans[1].weight_ns;
    CU_ASSERT_TRUE(spans[1].samples > 50);
    CU_ASSERT_TRUE(fabs(share - 0.2) <= 3 * sqrt(0.2 * 0.8 / spans[1].samples));
    printf(" (%.1f %%", 100 * share);
    double worst = 0.2;
    for (int i = 0; i < 5 && fabs(worst - 0.2) < 0.15; i++) {
        watch((struct sampler_options){.period = PERIOD_NS}, spans, 1, 300000000);
        const double fixed = spans[1].in_step_ns / spans[1].weight_ns;
        worst = fabs(fixed - 0.2) > fabs(worst - 0.2) ? fixed : worst;
    }
    printf(", without jitter %.1f %%)", 100 * worst);
    CU_ASSERT_TRUE(fabs(worst - 0.2) >= 0.15);
}

/* In each second, within one period, where the thread had all of the CPU; what others took of it is
 * a matter of chance. */
static void test_weights_are_the_time(void)
{
    enum { SECONDS = 3 };
    struct span spans[SECONDS + 1];
    if (!watch((struct sampler_options){.frequency_hz = HZ}, spans, SECONDS, 1000000000)) {
        sprof_test_skip("no events of whole CPUs");
        return;
    }
    double total_ns = 0, most_ns = 0;
    for (int i = 1; i <= SECONDS; i++) {
        const double wall_ns = (double)(spans[i].end_ns - spans[i - 1].end_ns);
        const double cpu_ns = (double)(spans[i].cpu_ns - spans[i - 1].cpu_ns);
        const double others = cpu_ns < wall_ns ? 1 - cpu_ns / wall_ns : 0;
        const double chance = sqrt(wall_ns / PERIOD_NS * others * (1 - others)) * PERIOD_NS;
        const double wrong_ns = spans[i].weight_ns - cpu_ns;
        CU_ASSERT_TRUE(fabs(wrong_ns) <= 1.3 * PERIOD_NS + 4 * chance);
        total_ns += wrong_ns;
        most_ns += 4 * chance;
    }
    printf(" (%+.2f periods in %d s)", total_ns / PERIOD_NS, SECONDS);
    CU_ASSERT_TRUE(fabs(total_ns) <= 2 * PERIOD_NS + most_ns);
}

/* Nothing is changed where a period was asked for. */
static void test_a_period_is_kept(void)
{
    struct span spans[2];
    watch((struct sampler_options){.period = 2000000}, spans, 1, 400000000);
    CU_ASSERT_EQUAL(spans[1].weight_ns, 2000000.0 * spans[1].samples);
}

void sprof_suite_sampler_steady(void);
void sprof_suite_sampler_steady(void)
{
    CU_pSuite suite = CU_add_suite("sampler/steady", NULL, NULL);
    CU_add_test(suite, "work in step with the interval", test_work_in_step_with_the_interval);
    CU_add_test(suite, "weights are the time", test_weights_are_the_time);
    CU_add_test(suite, "a period is kept", test_a_period_is_kept);
}
