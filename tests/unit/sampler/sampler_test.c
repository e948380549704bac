#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double children_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The rate itself: 997 samples in a second of CPU time. */
static void test_one_thread_gives_997_a_second(void)
{
    char *const command[] = {SAMPLER_SPIN, "1", "1000", NULL};
    const struct sampler_options options = {
        .capture = SAMPLER_CAPTURE_PC, .event = "cpu-clock", .command = command};
    struct live live;
    CU_ASSERT_EQUAL(live_record(&options, 20, 0, &live, NULL), 0);
    CU_ASSERT_TRUE(live.event.is_clock);
    CU_ASSERT_EQUAL(live.event.varying_period, live_scope(&live.facts) != SAMPLER_SCOPE_TASK);
    CU_ASSERT_EQUAL(live.event.period, 1003009);
    CU_ASSERT_TRUE(live_count_fits(live.records[MODEL_RECORD_SAMPLE], 997, live.target_ns));
    CU_ASSERT_TRUE(live_weight_fits(live.weight, 997, live.target_ns));
}

/* Processes too short for events of their own: with events of whole CPUs all their time is seen,
 * with others a hundredth of it. (Both sides of each comparison count what the host of this machine
 * takes in their own ways.) */
static void test_800_short_processes(void)
{
    char *const command[] = {"/bin/sh", "-c",
                             "i=0; while [ $i -lt 800 ]; do /bin/true; i=$((i+1)); done", NULL};
    const struct sampler_options options = {
        .capture = SAMPLER_CAPTURE_PC, .event = "cpu-clock", .command = command};
    struct live live;
    const double before = children_cpu_s();
    CU_ASSERT_EQUAL(live_record(&options, 60, 0, &live, NULL), 0);
    const double used = children_cpu_s() - before;
    CU_ASSERT_EQUAL(live.execs, 801);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_EXIT], 801);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_CPU_TIME], 801);
    CU_ASSERT_EQUAL(live.cpu_time_ns, live.target_ns);
    CU_ASSERT(live.unseen_ns > 0);
    const double counted = (double)(live.target_ns + live.unseen_ns) / 1e9;
    CU_ASSERT_TRUE(counted > 0.9 * used && counted < 2 * used);
    if (live_scope(&live.facts) == SAMPLER_SCOPE_TASK) {
        sprof_test_skip("no events of whole CPUs");
        return;
    }
    const double seen = (double)live.weight / 1e9;
    printf(" (%.0f %% of %.2f s)", 100 * seen / used, used);
    CU_ASSERT_TRUE(seen > 0.4 * used && seen < 2 * used);
}

static void test_target_lives_on(void)
{
    char *const command[] = {"sleep", "100", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct live live;
    CU_ASSERT_EQUAL(live_record(&options, 0.05, 0, &live, NULL), 0);
    CU_ASSERT_EQUAL(kill(live.facts.command_pid, 0), 0);
    live_end(live.facts.command_pid);
}

static void test_it_starts_once(void)
{
    char *const command[] = {"/bin/true", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct sampler *sampler;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(sampler_open(&sampler, &options, &error), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, &error), 0);
    CU_ASSERT_EQUAL(sampler_start(sampler, &error), SPROF_ESTATE);
    sampler_free(sampler);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    sampler_free(NULL);
}

void sprof_suite_sampler_sampler(void);
void sprof_suite_sampler_sampler(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sampler", NULL, NULL);
    CU_add_test(suite, "one thread gives 997 a second", test_one_thread_gives_997_a_second);
    CU_add_test(suite, "800 short processes", test_800_short_processes);
    CU_add_test(suite, "the target lives on", test_target_lives_on);
    CU_add_test(suite, "it starts once", test_it_starts_once);
}
