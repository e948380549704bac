#include "target/target.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that sleeps until it is killed. */
static pid_t sleeper(void)
{
    const pid_t pid = fork();
    if (!pid)
        for (;;)
            pause();
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_a_command(void)
{
    char *const command[] = {"sh", "-c", "test \"$SPROF_TEST\" = yes; exit $((4 + $?))", NULL};
    const struct target_options options = {.command = command};
    struct target *target;
    size_t count;
    int status = -1;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    CU_ASSERT_TRUE(target_command(target) > 0);
    CU_ASSERT_EQUAL(target_thread(target), 0);
    target_processes(target, &count);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_FALSE(target_ended(target, &status));
    CU_ASSERT_EQUAL(target_set_environment(target, "SPROF_TEST=yes"), 0);
    CU_ASSERT_EQUAL(target_start(target, NULL), 0);
    struct pollfd polls[4];
    bool blind;
    CU_ASSERT_EQUAL_FATAL(target_poll_count(target), 1);
    const size_t polled = target_polls(target, polls, &blind);
    if (!blind)
        CU_ASSERT_EQUAL(poll(polls, polled, 60000), 1);
    while (!target_ended(target, &status))
        usleep(1000);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 4);
    CU_ASSERT_TRUE(target_command_cpu_ns(target) > 0);
    target_free(target);
}

/* A command that shares one CPU with a twin is ready without one for about half of the time. */
static void test_ready_time(void)
{
    cpu_set_t before, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof before, &before), 0);
    const int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : (size_t)cpu, &one);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    const pid_t twin = fork();
    if (!twin) {
        volatile bool works = true;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (works)
            ;
    }
    char *const command[] = {"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done",
                             NULL};
    const struct target_options options = {.command = command};
    struct target *target;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    sched_setaffinity(0, sizeof before, &before);
    CU_ASSERT_EQUAL(target_start(target, NULL), 0);
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    while (!target_ended(target, NULL))
        usleep(1000);
    const uint64_t took_ns = sprof_clock_monotonic_ns() - begun_ns;
    const uint64_t ready_ns = target_ready_ns(target);
    CU_ASSERT_TRUE(ready_ns > took_ns / 5);
    CU_ASSERT_TRUE(ready_ns + target_command_cpu_ns(target) < took_ns + took_ns / 10);
    end(twin);
    target_free(target);
}

/* What waits for nothing but time is not ready meanwhile. */
static void test_waiting_is_not_ready(void)
{
    char *const command[] = {"sleep", "0.5", NULL};
    const struct target_options options = {.command = command};
    struct target *target;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    CU_ASSERT_EQUAL(target_start(target, NULL), 0);
    const uint64_t begun_ns = sprof_clock_monotonic_ns();
    while (!target_ended(target, NULL))
        usleep(1000);
    CU_ASSERT_TRUE(target_ready_ns(target) < (sprof_clock_monotonic_ns() - begun_ns) / 2);
    target_free(target);
}

static void test_processes(void)
{
    const pid_t pids[] = {sleeper(), sleeper()}, twice[] = {pids[0], pids[1], pids[0]};
    const struct target_options options = {.pids = twice, .pid_count = 3};
    struct target *target;
    size_t count;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    const pid_t *known = target_processes(target, &count);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_TRUE(known[0] == pids[0] && known[1] == pids[1]);
    CU_ASSERT_EQUAL(target_command(target), 0);
    CU_ASSERT_FALSE(target_ended(target, NULL));
    end(pids[0]);
    CU_ASSERT_FALSE(target_ended(target, NULL));
    end(pids[1]);
    CU_ASSERT_TRUE(target_ended(target, NULL));
    CU_ASSERT_TRUE(target_ended(target, NULL));
    target_free(target);
}

static void test_forgotten(void)
{
    const pid_t pids[] = {sleeper(), sleeper()};
    const struct target_options options = {.pids = pids, .pid_count = 2};
    struct target *target;
    struct pollfd polls[3];
    bool blind;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    target_forget(target, pids[0]);
    target_forget(target, 0x3fffffff);
    CU_ASSERT_FALSE(target_ended(target, NULL));
    CU_ASSERT_EQUAL(target_polls(target, polls, &blind), 3);
    CU_ASSERT_EQUAL(polls[1].fd, -1);
    target_forget(target, pids[1]);
    CU_ASSERT_TRUE(target_ended(target, NULL));
    CU_ASSERT_EQUAL(kill(pids[0], 0), 0);
    target_free(target);
    end(pids[0]);
    end(pids[1]);
}

/* A thread that ends when a byte is there; it writes its number first. */
static void *wait_for_byte(void *argument)
{
    const int *pipes = argument;
    const pid_t tid = (pid_t)syscall(SYS_gettid);
    char byte;
    CU_ASSERT_EQUAL(write(pipes[1], &tid, sizeof tid), (ssize_t)sizeof tid);
    CU_ASSERT_EQUAL(read(pipes[2], &byte, 1), 1);
    return NULL;
}

/* It ends before its process does. */
static void test_a_thread(void)
{
    int pipes[4];
    pthread_t thread;
    pid_t tid;
    CU_ASSERT_TRUE_FATAL(!pipe(pipes) && !pipe(pipes + 2));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wait_for_byte, pipes), 0);
    CU_ASSERT_EQUAL_FATAL(read(pipes[0], &tid, sizeof tid), (ssize_t)sizeof tid);
    const struct target_options options = {.tid = tid};
    struct target *target;
    size_t count;
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &options, NULL), 0);
    CU_ASSERT_EQUAL(target_thread(target), tid);
    const pid_t *known = target_processes(target, &count);
    CU_ASSERT_EQUAL_FATAL(count, 1);
    CU_ASSERT_EQUAL(known[0], getpid());
    CU_ASSERT_FALSE(target_ended(target, NULL));
    CU_ASSERT_EQUAL(write(pipes[3], "", 1), 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < 10000 && !target_ended(target, NULL); i++)
        usleep(1000);
    CU_ASSERT_TRUE(target_ended(target, NULL));
    target_free(target);
    for (int i = 0; i < 4; i++)
        close(pipes[i]);
}

static void test_one_kind_of_target(void)
{
    char *const command[] = {"true", NULL};
    const struct target_options none = {0}, both = {.command = command, .tid = getpid()};
    struct sprof_error error = {0};
    struct target *target;
    CU_ASSERT_EQUAL(target_open(&target, &none, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(target_open(&target, &both, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NULL(target);
    const pid_t self = getpid();
    const struct target_options all = {.all = true},
                                some_of_all = {.all = true, .pids = &self, .pid_count = 1};
    size_t count = 1;
    CU_ASSERT_EQUAL(target_open(&target, &some_of_all, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL_FATAL(target_open(&target, &all, &error), 0);
    target_processes(target, &count);
    CU_ASSERT_EQUAL(count, 0);
    target_free(target);
}

static void test_memory(void)
{
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    memcpy(pages + 4090, "sprof!", 6);
    char buffer[16] = "";
    const uint64_t address = (uint64_t)(uintptr_t)(pages + 4090);
    CU_ASSERT_EQUAL(target_read_memory(getpid(), address, buffer, 6), 6);
    CU_ASSERT_STRING_EQUAL(buffer, "sprof!");
    CU_ASSERT_EQUAL(target_read_memory(getpid(), address, buffer, sizeof buffer), 6);
    CU_ASSERT_EQUAL(target_read_memory(getpid(), 0, buffer, sizeof buffer), 0);
    CU_ASSERT_EQUAL(target_read_memory(0x3fffffff, address, buffer, sizeof buffer), 0);
    munmap(pages, 4096);
}

static void test_existing_memory(void)
{
    enum { PAGE = 4096, PAGES = 70 }; /* more than are looked at at once */
    static char buffer[PAGES * PAGE];
    char *pages =
        mmap(NULL, sizeof buffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t address = (uint64_t)(uintptr_t)pages;
    CU_ASSERT_EQUAL(target_read_existing(getpid(), address, buffer, sizeof buffer), 0);
    madvise(pages, sizeof buffer, MADV_NOHUGEPAGE);
    memset(pages, 7, 40 * PAGE);
    CU_ASSERT_EQUAL(target_read_existing(getpid(), address + 5, buffer, 10), 10);
    CU_ASSERT_EQUAL(target_read_existing(getpid(), address + 5, buffer, sizeof buffer - 5),
                    40 * PAGE - 5);
    CU_ASSERT_EQUAL(buffer[40 * PAGE - 6], 7);
    CU_ASSERT_EQUAL(target_read_existing(getpid(), address + 40 * PAGE, buffer, 1), 0);
    memset(pages, 8, sizeof buffer);
    CU_ASSERT_EQUAL(target_read_existing(getpid(), address + 1, buffer, sizeof buffer - 1),
                    sizeof buffer - 1);
    CU_ASSERT_EQUAL(target_read_existing(getpid(), 0, buffer, sizeof buffer), 0);
    munmap(pages, sizeof buffer);
}

/* An ordinary user may read his own, not root's. */
static void test_who_may_read(void)
{
    CU_ASSERT_EQUAL(target_may_read(getpid()), 0);
    CU_ASSERT_EQUAL(target_may_read(0x3fffffff), -ESRCH);
    const pid_t parent = getpid(), pid = fork();
    if (!pid) {
        const bool was_root = !geteuid();
        if (was_root && setuid(65534))
            _exit(1);
        _exit(was_root && target_may_read(parent) != -EPERM);
    }
    int status;
    waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
}

/* A thread's number where a process is expected, as `ps -L` and `top -H` show them. */
static void *check_own_thread(void *unused)
{
    struct sprof_error error = {0};
    char cure[64];
    CU_ASSERT_EQUAL(target_check((pid_t)syscall(SYS_gettid), false, &error), SPROF_EUSAGE);
    snprintf(cure, sizeof cure, "is a thread of process %d: give that, `-p %d`", getpid(),
             getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cure));
    return unused;
}

static void test_what_cannot_be_one(void)
{
    struct sprof_error error = {0};
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, check_own_thread, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(target_check(0x3fffffff, false, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "does not exist"));
    CU_ASSERT_EQUAL(target_explain(0x3fffffff, true, EACCES, &error), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(target_check(getpid(), false, &error), 0);
    CU_ASSERT_EQUAL(target_explain(getpid(), false, EACCES, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "PR_SET_DUMPABLE"));
}

static int count_mapping(void *context, const struct model_mmap *mapping)
{
    ++*(int *)context;
    return mapping->size ? 0 : 1;
}

/* It executes its program after a moment, or never; or it is gone. */
static void test_young(void)
{
    enum { FORKED = 0x40 };
    struct sprof_proc_stat stat;
    const uint64_t begin = sprof_clock_monotonic_ns();
    const pid_t executes = fork();
    if (!executes) {
        usleep(30000);
        execl("/bin/sleep", "sleep", "60", NULL);
        _exit(9);
    }
    const pid_t waits = fork();
    if (!waits) {
        pause();
        _exit(9);
    }
    CU_ASSERT_TRUE_FATAL(executes > 0 && waits > 0);
    target_wait_for_program(executes);
    const bool is_old = sprof_clock_monotonic_ns() - begin > 900000000; /* a slow machine */
    CU_ASSERT_TRUE(sprof_proc_stat_read(executes, &stat) && (is_old || !(stat.flags & FORKED)));
    target_wait_for_program(waits);
    CU_ASSERT_TRUE(sprof_proc_stat_read(waits, &stat) && stat.flags & FORKED);
    CU_ASSERT_TRUE(sprof_clock_monotonic_ns() - begin > 900000000);
    end(executes);
    end(waits);
    target_wait_for_program(executes);
}

static void test_mappings(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(target_each_mapping(getpid(), count_mapping, &count), 0);
    CU_ASSERT_TRUE(count > 2);
    const int before = count;
    CU_ASSERT_EQUAL(target_each_mapping(0x3fffffff, count_mapping, &count), 0);
    CU_ASSERT_EQUAL(count, before);
}

void sprof_suite_target_target(void);
void sprof_suite_target_target(void)
{
    CU_pSuite suite = CU_add_suite("target/target", NULL, NULL);
    CU_add_test(suite, "a command", test_a_command);
    CU_add_test(suite, "ready without a CPU", test_ready_time);
    CU_add_test(suite, "waiting is not ready", test_waiting_is_not_ready);
    CU_add_test(suite, "processes", test_processes);
    CU_add_test(suite, "a thread", test_a_thread);
    CU_add_test(suite, "forgotten", test_forgotten);
    CU_add_test(suite, "one kind of target", test_one_kind_of_target);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "existing memory", test_existing_memory);
    CU_add_test(suite, "who may read", test_who_may_read);
    CU_add_test(suite, "what cannot be one", test_what_cannot_be_one);
    CU_add_test(suite, "mappings", test_mappings);
    CU_add_test(suite, "young", test_young);
}
