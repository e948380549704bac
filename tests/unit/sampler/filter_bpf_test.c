#include "sampler/perf/bpf_refusal.h"
#include "sampler/perf/filter_bpf.h"

#include "sampler/perf/event_config.h"
#include "tests/unit/sampler/live.h"
#include "tests/unit/skip.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool open_filter(struct perf_filter_bpf *filter, bool follow)
{
    static const struct perf_filter_bpf_tails none = {0};
    const int result = perf_filter_bpf_open(filter, follow, NULL, &none, 0);
    if (!result)
        return true;
    CU_ASSERT_TRUE(geteuid() || result == -ENOENT || result == -EPERM || result == -ENOSYS ||
                   sprof_kernel_is_before(5, 17));
    sprof_test_skip("no BPF here: %s", perf_bpf_reason(result));
    return false;
}

/* The kernel frees what is left of a thread after a grace period, which CONFIG_RCU_LAZY draws out
 * to ten seconds and more. A hurried wait for one on each CPU takes the lazy ones along. */
static void hurry_grace_periods(void)
{
    cpu_set_t allowed, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/* A process that lives until a byte comes, with a number that is free; 0: the kernel chooses. */
static pid_t fork_waiting(pid_t number, const int ends[2])
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (number) {
        args.set_tid = (uintptr_t)&number;
        args.set_tid_size = 1;
    }
    const pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (!pid) {
        char byte;
        _exit(read(ends[0], &byte, 1) != 1);
    }
    return pid;
}

static void end_waiting(pid_t pid, const int ends[2])
{
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* A process with the number of another one right behind that one's end. Somebody else may have got
 * it meanwhile (EEXIST); then there is none. */
static pid_t fork_with_number_of(pid_t *first, const int ends[2])
{
    for (int i = 0; i < 20; i++) {
        *first = fork_waiting(0, ends);
        CU_ASSERT_TRUE_FATAL(*first > 0);
        end_waiting(*first, ends);
        const pid_t second = fork_waiting(*first, ends);
        if (second > 0)
            return second;
        if (errno != EEXIST)
            break;
    }
    sprof_test_skip("no process can be given a number: %s", strerror(errno));
    return -1;
}

/* A member's child is a member before it runs. */
static void test_members_follow_forks(void)
{
    struct perf_filter_bpf filter;
    if (!open_filter(&filter, true))
        return;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_FALSE(perf_filter_bpf_has(&filter, getpid()));
    CU_ASSERT_EQUAL(perf_filter_bpf_add(&filter, getpid()), 0);
    const pid_t pid = fork_waiting(0, ends);
    CU_ASSERT_TRUE_FATAL(pid > 0);
    CU_ASSERT_TRUE(perf_filter_bpf_has(&filter, pid));
    end_waiting(pid, ends);
    close(ends[0]);
    close(ends[1]);
    perf_filter_bpf_close(&filter);
}

/* What is left of a thread goes after a grace period, when its number may be another member's. */
static void test_number_of_dead_member(void)
{
    struct perf_filter_bpf filter;
    if (!open_filter(&filter, true))
        return;
    int ends[2];
    pid_t first;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(perf_filter_bpf_add(&filter, getpid()), 0);
    const pid_t second = fork_with_number_of(&first, ends);
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < 30 && second > 0; i++) {
        CU_ASSERT_TRUE(perf_filter_bpf_has(&filter, second));
        hurry_grace_periods();
        nanosleep(&pause, NULL);
    }
    if (second > 0)
        end_waiting(second, ends);
    close(ends[0]);
    close(ends[1]);
    perf_filter_bpf_close(&filter);
}

/* Somebody who is no member gets the number of a member. */
static void test_number_goes_to_stranger(void)
{
    struct perf_filter_bpf filter;
    if (!open_filter(&filter, true))
        return;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t first = fork_waiting(0, ends);
    CU_ASSERT_TRUE_FATAL(first > 0);
    CU_ASSERT_FALSE(perf_filter_bpf_has(&filter, first));
    CU_ASSERT_EQUAL(perf_filter_bpf_add(&filter, first), 0);
    CU_ASSERT_TRUE(perf_filter_bpf_has(&filter, first));
    end_waiting(first, ends);
    const pid_t second = fork_waiting(first, ends);
    if (second > 0) {
        CU_ASSERT_FALSE(perf_filter_bpf_has(&filter, second));
        end_waiting(second, ends);
    } else {
        CU_ASSERT_TRUE(errno == EEXIST || errno == EPERM || errno == ENOSYS);
    }
    close(ends[0]);
    close(ends[1]);
    perf_filter_bpf_close(&filter);
}

static void test_program_goes_on_events(void)
{
    struct perf_filter_bpf filter;
    if (!open_filter(&filter, false))
        return;
    struct perf_config plan;
    const struct sampler_options options = {.event = "cpu-clock"};
    CU_ASSERT_EQUAL_FATAL(perf_config_make(&plan, &options, NULL), 0);
    struct perf_event_attr attr;
    perf_config_sampling_event(&plan, 0, &attr, true, false);
    perf_config_release(&plan);
    const int fd = perf_open(&attr, -1, 0, -1);
    if (fd >= 0) {
        CU_ASSERT_EQUAL(perf_filter_bpf_attach(&filter, fd), 0);
        close(fd);
    }
    perf_filter_bpf_close(&filter);
    CU_ASSERT_PTR_NULL(filter.programs);
    perf_filter_bpf_close(&filter);
}

/* What the kernel must take, and what it must refuse: a clock for each of too many CPUs, a ring of
 * odd size. */
struct variant {
    bool captures, ticks;
    bool too_many_clocks, odd_ring;
};

static void try_variant(const struct variant *variant)
{
    const struct perf_filter_bpf_tails tails = {
        .wanted = variant->captures,
        .most_bytes = 1 << 20,
        .ring_bytes = variant->odd_ring ? (1 << 20) + 4096 : 1 << 20,
    };
    const size_t clocks = variant->too_many_clocks ? UINT32_MAX : variant->ticks ? 2 : 0;
    struct perf_filter_bpf filter;
    const int result = perf_filter_bpf_open(&filter, false, NULL, &tails, clocks);
    CU_ASSERT_EQUAL_FATAL(result, 0);
    CU_ASSERT_EQUAL(filter.captures, variant->captures && !variant->odd_ring);
    CU_ASSERT_EQUAL(filter.clock_count, variant->ticks && !variant->too_many_clocks ? 2 : 0);
    CU_ASSERT_EQUAL(filter.refuses_captures, variant->odd_ring);
    CU_ASSERT_EQUAL(filter.refuses_weights, variant->too_many_clocks);
    perf_filter_bpf_close(&filter);
}

/* Each part that the kernel takes is there, also where it refuses the other one. */
static void test_variants(void)
{
    static const struct variant variants[] = {
        {.captures = false, .ticks = false},
        {.captures = true, .ticks = false},
        {.captures = false, .ticks = true},
        {.captures = true, .ticks = true},
        {.captures = true, .ticks = true, .too_many_clocks = true},
        {.captures = true, .ticks = true, .odd_ring = true},
        {.captures = true, .ticks = true, .too_many_clocks = true, .odd_ring = true},
    };
    struct perf_filter_bpf filter;
    if (!open_filter(&filter, false))
        return;
    perf_filter_bpf_close(&filter);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        try_variant(&variants[i]);
}

void sprof_suite_sampler_filter_bpf(void);
void sprof_suite_sampler_filter_bpf(void)
{
    CU_pSuite suite = CU_add_suite("sampler/filter_bpf", NULL, NULL);
    CU_add_test(suite, "variants of the programs", test_variants);
    CU_add_test(suite, "members follow forks", test_members_follow_forks);
    CU_add_test(suite, "a member has the number of a dead one", test_number_of_dead_member);
    CU_add_test(suite, "a stranger gets a member's number", test_number_goes_to_stranger);
    CU_add_test(suite, "the program goes on events", test_program_goes_on_events);
}
