/* Clock events in front of a thread that never rests: whether work in step with the interval is met
 * at its share, and whether weights add up to the time used. */
#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 1003009, HZ = 997 };               /* what 997 Hz give */
static const uint64_t rates[] = {HZ, 2 * HZ, HZ / 2}; /* of a test that changes them */

/* The clocks of the spinner, as it read them itself one right after the other: of a CPU that stands
 * still, others read an old time. */
struct clocks {
    _Atomic uint64_t end_ns, cpu_ns, reads; /* odd while they change */
};

static uint64_t thread_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A hundred times a second: reading them makes the kernel charge what was used. */
static void spin_and_read(struct clocks *clocks)
{
    for (uint64_t next_ns = 0;;) {
        const uint64_t before_ns = sprof_clock_monotonic_ns();
        if (before_ns < next_ns)
            continue;
        const uint64_t cpu_ns = thread_cpu_ns();
        if (sprof_clock_monotonic_ns() - before_ns > 20000)
            continue; /* something came between */
        clocks->reads++;
        clocks->end_ns = before_ns;
        clocks->cpu_ns = cpu_ns;
        clocks->reads++;
        next_ns = before_ns + 10000000;
    }
}

static pid_t pinned_spinner(struct clocks *clocks)
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
        spin_and_read(clocks);
    }
    return pid;
}

/* What was seen between two looks at the clock of the spinner. */
struct span {
    uint64_t end_ns, cpu_ns;
    double weight_ns, squares, time_ns; /* of samples; of the time they stand for */
    double in_step_ns;                  /* of samples in the first fifth of a period of the work */
    unsigned samples;
};

static struct span look(const struct clocks *clocks)
{
    struct span span = {0};
    for (uint64_t reads = 1; reads % 2 || reads != clocks->reads;) {
        reads = clocks->reads;
        span.end_ns = clocks->end_ns;
        span.cpu_ns = clocks->cpu_ns;
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
    struct clocks *clocks =
        mmap(NULL, sizeof *clocks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(clocks, MAP_FAILED);
    const pid_t pid = pinned_spinner(clocks);
    struct sampler *sampler;
    struct ticks ticks = {0};
    options.event = "cpu-clock";
    options.pids = &pid;
    options.pid_count = 1;
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, NULL), 0);
    const bool jitters = live_scope(sampler_facts(sampler)) == SAMPLER_SCOPE_CPU_FILTERED;
    CU_ASSERT_EQUAL(sampler_start(sampler, NULL), 0);
    unsigned looks = 0;
    for (size_t i = 0; i <= count; i++) {
        const uint64_t end_ns = sprof_clock_monotonic_ns() + (i ? span_ns : 200000000);
        while (sprof_clock_monotonic_ns() < end_ns) {
            wait_and_read(sampler, &ticks);
            if (changes && jitters && ++looks % 8 == 0)
                CU_ASSERT_EQUAL(sampler_set_rate(sampler, rates[looks / 8 % 3], NULL, NULL), 0);
        }
        spans[i] = look(clocks);
    }
    /* Ticks that stand for the end of the last span. */
    for (int i = 0;
         i < 1000 && (!ticks.list.count || ticks.list.items[ticks.list.count - 1].time_ns <
                                               spans[count].end_ns + 10000000);
         i++)
        wait_and_read(sampler, &ticks);
    sampler_stop(sampler);
    wait_and_read(sampler, &ticks);
    share_out(&ticks, spans, count);
    sprof_vec_release(&ticks.list);
    sampler_free(sampler);
    live_end(pid);
    munmap(clocks, sizeof *clocks);
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
    CU_ASSERT_TRUE(effective > 200);
    return true;
}

/* Beside the same without jitter: there the timer meets it always or never, or it stands at its
 * very edge. Chance misses by three standard errors now and then, but not three times. */
static void test_work_in_step_with_the_interval(void)
{
    double share, miss;
    if (!miss_of_work_in_step(&share, &miss)) {
        sprof_test_skip("no events of whole CPUs that a program filters");
        return;
    }
    for (int i = 0; i < 2 && miss > 3; i++)
        miss_of_work_in_step(&share, &miss);
    CU_ASSERT_TRUE(miss <= 3);
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

/* In each second, and in all: within a period at both ends, whatever else ran on the CPU, and the
 * tick of the scheduler, which charges what was used. */
static void expect_weights_to_be_the_time(bool changes)
{
    enum { SECONDS = 3, TICK_NS = 4000000 };
    struct span spans[SECONDS + 1];
    const double longest_ns = 1.3 * (changes ? 2 * PERIOD_NS : PERIOD_NS);
    const double most_ns = 2 * longest_ns + TICK_NS;
    if (!watch((struct sampler_options){.frequency_hz = HZ}, spans, SECONDS, 1000000000, changes)) {
        sprof_test_skip("no events of whole CPUs that a program filters");
        return;
    }
    double total_ns = 0;
    for (int i = 1; i <= SECONDS; i++) {
        const double cpu_ns = (double)(spans[i].cpu_ns - spans[i - 1].cpu_ns);
        const double wrong_ns = spans[i].time_ns - cpu_ns;
        printf("%s%+.2f", i > 1 ? ", " : " (ms: ", wrong_ns / 1e6);
        CU_ASSERT_TRUE(fabs(wrong_ns) <= most_ns);
        total_ns += wrong_ns;
    }
    printf(" of %.2f)", most_ns / 1e6);
    CU_ASSERT_TRUE(fabs(total_ns) <= most_ns);
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
