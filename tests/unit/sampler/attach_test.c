#include "sampler/perf/perf_source.h"

#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sampler_options attach_options(const pid_t *pid, enum sampler_scope scope)
{
    return (struct sampler_options){.capture = SAMPLER_CAPTURE_PC,
                                    .event = "cpu-clock",
                                    .pids = pid,
                                    .pid_count = 1,
                                    .minimum_scope = scope};
}

/* Four threads share the CPUs: their samples add up to their CPU time, no thread counts twice. */
static void check_threads(enum sampler_scope scope)
{
    const pid_t pid = live_spin("4", "100000", NULL);
    const struct sampler_options options = attach_options(&pid, scope);
    struct live live;
    struct sprof_error error = {0};
    const struct live_work work = {.seconds = 0.3, .cpu_ns = 600000000};
    CU_ASSERT_EQUAL(live_record_work(&options, &work, pid, &live, &error), 0);
    CU_ASSERT_TRUE(live_count_fits(live.records[MODEL_RECORD_SAMPLE], 997, live.target_ns));
    CU_ASSERT_EQUAL(live.foreign, 0);
    CU_ASSERT_EQUAL(live.before_start[MODEL_RECORD_FORK], 4);
    CU_ASSERT_EQUAL(live.before_start[MODEL_RECORD_COMM], 4);
    CU_ASSERT_TRUE(live.before_start[MODEL_RECORD_MMAP] >= 3);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_CPU_TIME], 4);
    CU_ASSERT_TRUE(live_is_nearly(live.cpu_time_ns, live.target_ns));
    live_end(pid);
}

static void test_threads_count_once(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++)
        check_threads(scope);
}

/* A target that starts a thread every two milliseconds, also while it is being taken in. Short
 * threads go unsampled in task scope; nothing may be counted twice in any. */
static void check_hatching(enum sampler_scope scope)
{
    const pid_t pid = live_spin("2", "100000", "hatch");
    const struct sampler_options options = attach_options(&pid, scope);
    struct live live;
    struct sprof_error error = {0};
    const struct live_work work = {.seconds = 0.3, .cpu_ns = 400000000, .forks = 20};
    CU_ASSERT_EQUAL(live_record_work(&options, &work, pid, &live, &error), 0);
    const uint64_t count = live.records[MODEL_RECORD_SAMPLE];
    if (live_scope(&live.facts) != SAMPLER_SCOPE_TASK)
        CU_ASSERT_TRUE(live_count_fits(count, 997, live.target_ns));
    const double expected = 997 * (double)live.target_ns / 1e9;
    CU_ASSERT_TRUE((double)count <= 1.1 * expected + 5 * sqrt(expected));
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_FORK] > 10);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_EXIT] > 10);
    CU_ASSERT_TRUE(live.records[MODEL_RECORD_CPU_TIME] > 10);
    CU_ASSERT_TRUE(live_is_nearly(live.cpu_time_ns, live.target_ns));
    live_end(pid);
}

static void test_threads_that_hatch(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++)
        check_hatching(scope);
}

static pid_t second_thread(pid_t pid)
{
    struct sprof_id_list threads = {0};
    sprof_proc_threads(pid, &threads);
    pid_t found = 0;
    for (size_t i = 0; i < threads.count; i++)
        found = threads.items[i] != pid ? threads.items[i] : found;
    sprof_vec_release(&threads);
    return found;
}

/* One of three threads, alone. */
static void check_one_thread(enum sampler_scope scope)
{
    const pid_t pid = live_spin("3", "100000", NULL), tid = second_thread(pid);
    struct sampler_options options = attach_options(NULL, scope);
    options.pid_count = 0;
    options.tid = tid;
    struct live live;
    struct sprof_error error = {0};
    const struct live_work work = {.seconds = 0.3, .cpu_ns = 200000000};
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    CU_ASSERT_EQUAL(live_record_work(&options, &work, pid, &live, &error), 0);
    CU_ASSERT_TRUE(live.target_ns < sprof_clock_monotonic_ns() - before_ns);
    CU_ASSERT_TRUE(live_count_fits(live.records[MODEL_RECORD_SAMPLE], 997, live.target_ns));
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_CPU_TIME], 1);
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_FORK], 0);
    live_end(pid);
}

static void test_one_thread(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++)
        check_one_thread(scope);
}

static void test_a_thread_is_no_process(void)
{
    const pid_t pid = live_spin("2", "100000", NULL), tid = second_thread(pid);
    const struct sampler_options options = attach_options(&tid, SAMPLER_SCOPE_CPU_FILTERED);
    struct live live;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(live_record(&options, 0.1, pid, &live, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "-t"));
    live_end(pid);
}

static void test_two_processes_that_end(void)
{
    const pid_t pids[] = {live_spin("1", "1500", NULL), live_spin("1", "1700", NULL)};
    struct sampler_options options = attach_options(pids, SAMPLER_SCOPE_CPU_FILTERED);
    options.pid_count = 2;
    struct live live;
    CU_ASSERT_EQUAL(live_record(&options, 100, 0, &live, NULL), 0);
    CU_ASSERT_TRUE(live_count_fits(live.records[MODEL_RECORD_SAMPLE], 997, live.target_ns));
    CU_ASSERT_EQUAL(live.records[MODEL_RECORD_EXIT], 2);
    CU_ASSERT_TRUE(live_is_nearly(live.cpu_time_ns, live.target_ns));
    live_end(pids[0]);
    live_end(pids[1]);
}

/* Descriptors for the events and for counters of some threads, not of all. */
static int check_too_many_threads(void)
{
    const pid_t pid = live_spin("8", "100000", NULL);
    const struct rlimit few = {live_next_descriptor() + 20, live_next_descriptor() + 20};
    LIVE_EXPECT(!setrlimit(RLIMIT_NOFILE, &few));
    const struct sampler_options options = attach_options(&pid, SAMPLER_SCOPE_CPU_FILTERED);
    struct live live;
    struct sprof_error error = {0};
    const int result = live_record(&options, 0.5, pid, &live, &error);
    live_end(pid);
    LIVE_EXPECT(!result);
    LIVE_EXPECT(live.target_ns == 0); /* nobody knows it all */
    LIVE_EXPECT(live.records[MODEL_RECORD_CPU_TIME] == 8);
    LIVE_EXPECT(live_weight_fits(live.weight, 997, live.cpu_time_ns));
    return 0;
}

static void test_too_many_threads(void)
{
    if (live_is_root())
        CU_ASSERT_EQUAL(live_in_child(check_too_many_threads, false), 0);
}

static void *spin_for_ever(void *nothing)
{
    for (;;)
        __asm__ volatile("");
    return nothing;
}

/* Its first thread is a zombie, and so it looks like one. */
static pid_t headless_process(void)
{
    const pid_t pid = fork();
    if (!pid) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin_for_ever, NULL))
            _exit(1);
        syscall(SYS_exit, 0);
    }
    live_wait_for(pid, 'Z');
    return pid;
}

static void test_a_process_without_its_first_thread(void)
{
    for (enum sampler_scope scope = SAMPLER_SCOPE_CPU_FILTERED; scope <= SAMPLER_SCOPE_TASK;
         scope++) {
        const pid_t pid = headless_process();
        const struct sampler_options options = attach_options(&pid, scope);
        struct live live;
        const struct live_work work = {.seconds = 0.2, .cpu_ns = 100000000};
        CU_ASSERT_EQUAL(live_record_work(&options, &work, pid, &live, NULL), 0);
        CU_ASSERT_TRUE(live.target_ns > 0);
        CU_ASSERT_TRUE(live_count_fits(live.records[MODEL_RECORD_SAMPLE], 997, live.target_ns));
        live_end(pid);
    }
}

void sprof_suite_sampler_attach(void);
void sprof_suite_sampler_attach(void)
{
    CU_pSuite suite = CU_add_suite("sampler/attach", NULL, NULL);
    CU_add_test(suite, "threads count once", test_threads_count_once);
    CU_add_test(suite, "threads that hatch", test_threads_that_hatch);
    CU_add_test(suite, "one thread", test_one_thread);
    CU_add_test(suite, "a thread is no process", test_a_thread_is_no_process);
    CU_add_test(suite, "two processes that end", test_two_processes_that_end);
    CU_add_test(suite, "too many threads", test_too_many_threads);
    CU_add_test(suite, "without the first thread", test_a_process_without_its_first_thread);
}
