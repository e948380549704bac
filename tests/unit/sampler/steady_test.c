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

enum { PERIOD_NS = 1003009, HZ = 997 };               /* what 997 Hz give */
static const uint64_t rates[] = {HZ, 2 * HZ, HZ / 2}; /* of a test that changes them */

static pid_t pinned_spinner(void)
{
    const struct sched_param first = {.sched_priority = 1};
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
        sched_setscheduler(0, SCHED_FIFO, &first); /* where permitted: others get 5 % */
        for (volatile unsigned spins = 0;; spins++)
            ;
    }
    return pid;
}

/* What was seen between two looks at the clock of the spinner. */
struct span {
    uint64_t end_ns, cpu_ns;
    double weight_ns, squares, time_ns; /* of samples; of the time they stand for */
    double in_step_ns;                  /* of samples in the first fifth of a period of the work */
    unsigned samples, switches;
};

static unsigned switches_of(pid_t pid)
{
    char path[64], line[256];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "nonvoluntary_ctxt_switches: %u", &count);
    if (status)
        fclose(status);
    return count;
}

static uint64_t cpu_ns_of(pid_t pid)
{
    clockid_t clock;
    struct timespec time = {0};
    if (!clock_getcpuclockid(pid, &clock))
        clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Both clocks at once: again where something came between. */
static struct span look(pid_t pid)
{
    struct span span = {.switches = switches_of(pid)};
    for (int i = 0; i < 1000; i++) {
        span.end_ns = sprof_clock_monotonic_ns();
        span.cpu_ns = cpu_ns_of(pid);
        if (sprof_clock_monotonic_ns() - span.end_ns < 20000)
            break;
    }
    return span;
}

struct tick {
    uint64_t time_ns, weight_ns;
};
struct ticks {
    SPROF_VEC(struct tick) list;
};

/* Samples have to be read while they come: what was not delivered is not jittered. */
static void wait_and_read(struct sampler *sampler, struct ticks *ticks)
{
    const struct model_record *record;
    sampler_wait(sampler, 5, -1);
    while (!sampler_next(sampler, &record))
        if (record->type == MODEL_RECORD_SAMPLE)
            sprof_vec_push(&ticks->list, ((struct tick){record->time_ns, record->sample.weight}));
}

/* A sample stands for the time before it, part of which may lie in the span before. */
static void share_out(const struct ticks *ticks, struct span *spans, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < ticks->list.count; i++) {
        const struct tick tick = ticks->list.items[i];
        while (at <= count && tick.time_ns > spans[at].end_ns)
            at++;
        if (at > count)
            return;
        const double weight_ns = (double)tick.weight_ns;
        const double within_ns = at ? (double)(tick.time_ns - spans[at - 1].end_ns) : weight_ns;
        const double before_ns = weight_ns > within_ns ? weight_ns - within_ns : 0;
        spans[at].samples++;
        spans[at].weight_ns += weight_ns;
        spans[at].squares += weight_ns * weight_ns;
        spans[at].time_ns += weight_ns - before_ns;
        if (at)
            spans[at - 1].time_ns += before_ns;
        spans[at].in_step_ns += tick.time_ns % PERIOD_NS < PERIOD_NS / 5 ? weight_ns : 0;
    }
}

/* Samples for `count` spans of `span_ns` each; spans[0] only marks the beginning. With `changes`,
 * the rate goes down and up all the time. */
static bool watch(struct sampler_options options, struct span *spans, size_t count,
                  uint64_t span_ns, bool changes)
{
    const pid_t pid = pinned_spinner();
    struct sampler *sampler;
    struct ticks ticks = {0};
    options.event = "cpu-clock";
    options.pids = &pid;
    options.pid_count = 1;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool jitters = live_scope(sampler_facts(sampler)) != SAMPLER_SCOPE_TASK;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    unsigned looks = 0;
    for (size_t i = 0; i <= count; i++) {
        const uint64_t end_ns = sprof_clock_monotonic_ns() + (i ? span_ns : 20000000);
        while (sprof_clock_monotonic_ns() < end_ns) {
            wait_and_read(sampler, &ticks);
            if (changes && jitters && ++looks % 8 == 0)
                CU_ASSERT_EQUAL(sampler_set_rate(sampler, rates[looks / 8 % 3], NULL, NULL), 0);
        }
        spans[i] = look(pid);
    }
    usleep(5000); /* for the tick that stands for the end of the last span */
    sampler_stop(sampler);
    wait_and_read(sampler, &ticks);
    share_out(&ticks, spans, count);
    sprof_vec_release(&ticks.list);
    sampler_free(sampler);
    live_end(pid);
    return jitters;
}

/* How far the share of work that takes the first fifth of each interval is from a fifth, in
 * standard errors; *share is for the message. False: events are not of whole CPUs. */
static bool miss_of_work_in_step(double *share, double *miss)
{
    struct span spans[2];
    if (!watch((struct sampler_options){.frequency_hz = HZ}, spans, 1, 3000000000, false))
        return false;
    const double effective = spans[1].weight_ns * spans[1].weight_ns / spans[1].squares;
    *share = spans[1].in_step_ns / spans[1].weight_ns;
    *miss = fabs(*share - 0.2) / sqrt(0.2 * 0.8 / effective);
    CU_ASSERT_TRUE(effective > 1000);
    return true;
}

/* Beside the same without jitter: there the timer meets it always or never, or it stands at its
 * very edge. Chance misses by three standard errors now and then, but not twice. */
static void test_work_in_step_with_the_interval(void)
{
    double share, miss;
    if (!miss_of_work_in_step(&share, &miss)) {
        sprof_test_skip("no events of whole CPUs");
        return;
    }
    CU_ASSERT_TRUE(miss <= 3 || (miss_of_work_in_step(&share, &miss) && miss <= 3));
    printf(" (%.1f %%", 100 * share);
    double worst = 0.2;
    for (int i = 0; i < 5 && fabs(worst - 0.2) < 0.15; i++) {
        struct span spans[2];
        watch((struct sampler_options){.period = PERIOD_NS}, spans, 1, 300000000, false);
        const double fixed = spans[1].in_step_ns / spans[1].weight_ns;
        worst = fabs(fixed - 0.2) > fabs(worst - 0.2) ? fixed : worst;
    }
    printf(", without jitter %.1f %%)", 100 * worst);
    CU_ASSERT_TRUE(fabs(worst - 0.2) >= 0.15);
}

/* The standard error of what others took of the CPU, as the ticks tell it; and each time they take
 * it, the interval between two ticks may be weighed for either side. */
static double chance_ns(const struct span *before, const struct span *span, double period_ns)
{
    const double wall_ns = (double)(span->end_ns - before->end_ns);
    const double cpu_ns = (double)(span->cpu_ns - before->cpu_ns);
    const double others = cpu_ns < wall_ns ? 1 - cpu_ns / wall_ns : 0;
    const unsigned switches = span->switches - before->switches;
    return period_ns * sqrt(others * (1 - others) * wall_ns / period_ns + switches / 2.);
}

/* In each second, within one period, where the thread had all of the CPU. */
static void expect_weights_to_be_the_time(bool changes)
{
    enum { SECONDS = 3 };
    struct span spans[SECONDS + 1];
    const double period_ns = changes ? 2 * PERIOD_NS : PERIOD_NS, longest_ns = 1.3 * period_ns;
    if (!watch((struct sampler_options){.frequency_hz = HZ}, spans, SECONDS, 1000000000, changes)) {
        sprof_test_skip("no events of whole CPUs");
        return;
    }
    double total_ns = 0;
    for (int i = 1; i <= SECONDS; i++) {
        const double cpu_ns = (double)(spans[i].cpu_ns - spans[i - 1].cpu_ns);
        const double wrong_ns = spans[i].time_ns - cpu_ns;
        const double most_ns = longest_ns + 3 * chance_ns(&spans[i - 1], &spans[i], period_ns);
        printf("%s%+.2f of %.2f", i > 1 ? ", " : " (ms: ", wrong_ns / 1e6, most_ns / 1e6);
        CU_ASSERT_TRUE(fabs(wrong_ns) <= most_ns);
        total_ns += wrong_ns;
    }
    printf(")");
    CU_ASSERT_TRUE(fabs(total_ns) <=
                   longest_ns + 3 * chance_ns(&spans[0], &spans[SECONDS], period_ns));
}

static void test_weights_are_the_time(void)
{
    expect_weights_to_be_the_time(false);
}

static void test_weights_are_the_time_while_the_rate_changes(void)
{
    expect_weights_to_be_the_time(true);
}

/* Nothing is changed where a period was asked for. */
static void test_a_period_is_kept(void)
{
    struct span spans[2];
    watch((struct sampler_options){.period = 2000000}, spans, 1, 400000000, false);
    CU_ASSERT_EQUAL(spans[1].weight_ns, 2000000.0 * spans[1].samples);
}

void sprof_suite_sampler_steady(void);
void sprof_suite_sampler_steady(void)
{
    CU_pSuite suite = CU_add_suite("sampler/steady", NULL, NULL);
    CU_add_test(suite, "work in step with the interval", test_work_in_step_with_the_interval);
    CU_add_test(suite, "weights are the time", test_weights_are_the_time);
    CU_add_test(suite, "weights are the time while the rate changes",
                test_weights_are_the_time_while_the_rate_changes);
    CU_add_test(suite, "a period is kept", test_a_period_is_kept);
}
