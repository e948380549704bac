#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *const spin_command[] = {SAMPLER_SPIN, "2", "200", NULL};

static unsigned open_files(void)
{
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* In each scope: all of the command's time, nobody else's, and nothing left open. */
static void check_scope(enum sampler_scope scope)
{
    const struct sampler_options options = {.capture = SAMPLER_CAPTURE_FULL,
                                            .event = "cpu-clock",
                                            .command = spin_command,
                                            .minimum_scope = scope};
    const unsigned before = open_files();
    struct live live;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(live_record(&options, 100, 0, &live, &error), 0);
    CU_ASSERT_EQUAL(open_files(), before);
    CU_ASSERT_TRUE(live_scope(&live.facts) >= scope);
    /* 400 by the threads' own clocks, which run ahead. */
    CU_ASSERT_TRUE(live.target_ns >= 360000000);
    const uint64_t samples = live.records[MODEL_RECORD_SAMPLE];
    CU_ASSERT_TRUE(live_count_fits(samples + live.lost, 997, live.target_ns));
    CU_ASSERT_EQUAL(live.foreign, 0);
    CU_ASSERT_TRUE(live.lost < 4 * samples); /* where we do not run for as long as it does */
    CU_ASSERT_EQUAL(live.out_of_order, 0);
    CU_ASSERT_EQUAL(live.execs, 1);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_FORK], 1);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_EXIT], 2);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_CPU_TIME], 2);
    CU_ASSERT_EQUAL(live.cpu_time_ns, live.target_ns);
    CU_ASSERT_TRUE(live.with_stack * 2 > samples);
    CU_ASSERT_TRUE(live.with_chain <= live.in_kernel);
}

static void test_filtered_scope(void)
{
    check_scope(SAMPLER_SCOPE_CPU_FILTERED);
}

static void test_cpu_scope(void)
{
    check_scope(SAMPLER_SCOPE_CPU);
}

static void test_task_scope(void)
{
    check_scope(SAMPLER_SCOPE_TASK);
}

static int check_nobody(void)
{
    static char *const command[] = {"/bin/sh", "-c",
                                    "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", NULL};
    const struct sampler_options options = {
        .capture = SAMPLER_CAPTURE_FULL, .event = "cpu-clock", .command = command};
    struct live live;
    struct sprof_error error = {0};
    LIVE_EXPECT(!live_record(&options, 100, 0, &live, &error));
    LIVE_EXPECT(live_scope(&live.facts) == SAMPLER_SCOPE_TASK);
    LIVE_EXPECT(live.facts.kernel_excluded);
    LIVE_EXPECT(strstr(live.facts.kernel_excluded_why, "kernel.perf_event_paranoid is 2"));
    LIVE_EXPECT(live.records[MODEL_RECORD_SAMPLE] > 10);
    LIVE_EXPECT(live.in_kernel == 0);
    LIVE_EXPECT(live.facts.ring_bytes / live.facts.rings >= 64 * (live.facts.stack_bytes + 1000));
    return 0;
}

static void test_an_ordinary_user(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    int paranoid = 0;
    const int got = file ? fscanf(file, "%d", &paranoid) : 0;
    if (file)
        fclose(file);
    if (got == 1 && paranoid == 2 && live_is_root())
        CU_ASSERT_EQUAL(live_in_child(check_nobody, true), 0);
}

/* An ordinary user with no locked memory beyond the kernel's allowance gets smaller rings. */
static int check_little_memory(void)
{
    const struct rlimit none = {0, 0};
    LIVE_EXPECT(!setrlimit(RLIMIT_MEMLOCK, &none));
    static char *const command[] = {"/bin/true", NULL};
    const struct sampler_options options = {
        .capture = SAMPLER_CAPTURE_USER, .event = "cpu-clock", .command = command};
    struct sampler *sampler;
    struct sprof_error error = {0};
    LIVE_EXPECT(!sampler_open(&sampler, &options, &error));
    const struct sampler_facts *facts = sampler_facts(sampler);
    LIVE_EXPECT(facts->ring_bytes / facts->rings <= 1 << 20);
    LIVE_EXPECT(facts->stack_bytes < facts->stack_bytes_wanted);
    struct sampler *second; /* the allowance is used up now */
    LIVE_EXPECT(sampler_open(&second, &options, &error) == 0 || error.code == SPROF_ELIMIT);
    sampler_free(second);
    sampler_free(sampler);
    return 0;
}

static void test_little_locked_memory(void)
{
    if (live_is_root())
        CU_ASSERT_EQUAL(live_in_child(check_little_memory, true), 0);
}

static int check_few_files(void)
{
    const struct rlimit few = {live_next_descriptor() + 4, live_next_descriptor() + 4};
    LIVE_EXPECT(!setrlimit(RLIMIT_NOFILE, &few));
    static char *const command[] = {"/bin/true", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct sampler *sampler;
    struct sprof_error error = {0};
    LIVE_EXPECT(sampler_open(&sampler, &options, &error) == SPROF_ELIMIT);
    LIVE_EXPECT(strstr(error.message, "ulimit -n"));
    LIVE_EXPECT(!sampler);
    return 0;
}

/* The soft limit is no limit: it is raised. */
static int check_soft_files(void)
{
    struct rlimit limit;
    LIVE_EXPECT(!getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = live_next_descriptor() + 4;
    LIVE_EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
    static char *const command[] = {"/bin/sh", "-c", "test $(ulimit -n) -lt 100", NULL};
    const struct sampler_options options = {.event = "cpu-clock", .command = command};
    struct live live;
    struct sprof_error error = {0};
    LIVE_EXPECT(!live_record(&options, 100, 0, &live, &error));
    LIVE_EXPECT(live.wait_status == 0); /* the command keeps its own */
    return 0;
}

static void test_few_descriptors(void)
{
    CU_ASSERT_EQUAL(live_in_child(check_few_files, false), 0);
    CU_ASSERT_EQUAL(live_in_child(check_soft_files, false), 0);
}

static void test_the_budget_holds(void)
{
    static char *const command[] = {"/bin/true", NULL};
    for (size_t budget = 1 << 20; budget <= 16 << 20; budget *= 4) {
        const struct sampler_options options = {.capture = SAMPLER_CAPTURE_FULL,
                                                .event = "cpu-clock",
                                                .command = command,
                                                .ring_budget_bytes = budget};
        struct live live;
        CU_ASSERT_EQUAL(live_record(&options, 100, 0, &live, NULL), 0);
        CU_ASSERT_TRUE(live.facts.ring_bytes <= budget);
        CU_ASSERT_TRUE(live.facts.stack_bytes * 64 * live.facts.rings <= budget);
    }
}

void sprof_suite_sampler_open(void);
void sprof_suite_sampler_open(void)
{
    CU_pSuite suite = CU_add_suite("sampler/open", NULL, NULL);
    CU_add_test(suite, "the filtered scope", test_filtered_scope);
    CU_add_test(suite, "the CPU scope", test_cpu_scope);
    CU_add_test(suite, "the task scope", test_task_scope);
    CU_add_test(suite, "an ordinary user", test_an_ordinary_user);
    CU_add_test(suite, "little locked memory", test_little_locked_memory);
    CU_add_test(suite, "few descriptors", test_few_descriptors);
    CU_add_test(suite, "the budget holds", test_the_budget_holds);
}
