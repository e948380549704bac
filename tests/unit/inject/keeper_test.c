/* The keeper outlives a killed tracer: it renews leases, switches probes off and removes a file. */
#include "inject/inject.h"
#include "inject/lock.h"
#include "tests/unit/inject/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tracer that is killed at the end, with memory that it shares with a program. */
struct tracer {
    struct child program;
    struct probe_shared *shared;
    int memory_fd, ready[2];
    pid_t pid;
    char file[64];
};

static void make(struct tracer *tracer)
{
    tracer->program = child_make(NULL);
    child_wait(&tracer->program, 1);
    tracer->memory_fd = memfd_create("keeper", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(tracer->memory_fd, sizeof *tracer->shared), 0);
    tracer->shared = mmap(NULL, sizeof *tracer->shared, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, tracer->memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(tracer->shared, MAP_FAILED);
    strcpy(tracer->file, "/tmp/sprof-keeper-XXXXXX");
    const int fd = mkstemp(tracer->file);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
}

/* Begins it. `forgets`: the program has no probes any more; `ends`: it ends its keeper. */
static void begin(struct tracer *tracer, bool forgets, bool ends)
{
    CU_ASSERT_EQUAL_FATAL(pipe(tracer->ready), 0);
    tracer->pid = fork();
    if (!tracer->pid) {
        struct inject_keeper keeper;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        inject_keeper_begin(&keeper, NULL);
        inject_keeper_note_file(&keeper, tracer->file);
        inject_keeper_watch(&keeper, tracer->program.pid, false, -1);
        inject_keeper_share(&keeper, tracer->program.pid, tracer->memory_fd);
        if (forgets)
            inject_keeper_forget(&keeper, tracer->program.pid);
        if (ends)
            inject_keeper_end(&keeper);
        if (write(tracer->ready[1], "r", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    char byte;
    CU_ASSERT_EQUAL(read(tracer->ready[0], &byte, 1), 1);
}

static void kill_tracer(struct tracer *tracer)
{
    kill(tracer->pid, SIGKILL);
    waitpid(tracer->pid, NULL, 0);
    close(tracer->ready[0]);
    close(tracer->ready[1]);
}

static void end(struct tracer *tracer)
{
    munmap(tracer->shared, sizeof *tracer->shared);
    close(tracer->memory_fd);
    unlink(tracer->file);
    CU_ASSERT_EQUAL(child_end(&tracer->program), 9);
}

static bool is_removed(const struct tracer *tracer)
{
    return access(tracer->file, F_OK) && errno == ENOENT;
}

static void test_killed(void)
{
    struct tracer tracer;
    make(&tracer);
    atomic_store(&tracer.shared->renewal.ticks, UINT64_C(1) << 40);
    atomic_store(&tracer.shared->lease, 2);
    atomic_store(&tracer.shared->tiers[3], PROBE_FULL);
    begin(&tracer, false, false);
    for (int i = 0; i < 30000 && atomic_load(&tracer.shared->lease) == 2; i++)
        child_pause();
    CU_ASSERT(atomic_load(&tracer.shared->lease) > 2); /* it renews while the tracer lives */
    CU_ASSERT_EQUAL(atomic_load(&tracer.shared->tiers[3]), PROBE_FULL);
    CU_ASSERT_FALSE(is_removed(&tracer));
    kill_tracer(&tracer);
    for (int i = 0;
         i < 30000 && (atomic_load(&tracer.shared->tiers[3]) || !is_removed(&tracer) ||
                       atomic_load(&tracer.shared->loading.state) != PROBE_LOADING_CLOSED);
         i++)
        child_pause();
    CU_ASSERT_EQUAL(atomic_load(&tracer.shared->tiers[3]), PROBE_OFF);
    CU_ASSERT_EQUAL(atomic_load(&tracer.shared->loading.state), PROBE_LOADING_CLOSED);
    CU_ASSERT_TRUE(is_removed(&tracer));
    end(&tracer);
}

/* Of a program that was left before, nothing is written. */
static void test_forgotten(void)
{
    struct tracer tracer;
    make(&tracer);
    atomic_store(&tracer.shared->tiers[3], PROBE_FULL);
    begin(&tracer, true, false);
    kill_tracer(&tracer);
    for (int i = 0; i < 30000 && !is_removed(&tracer); i++)
        child_pause();
    CU_ASSERT_TRUE(is_removed(&tracer)); /* which it does first */
    CU_ASSERT_EQUAL(atomic_load(&tracer.shared->tiers[3]), PROBE_FULL);
    end(&tracer);
}

/* A tracer that has ended its keeper leaves all as it is. */
static void test_ended(void)
{
    struct tracer tracer;
    make(&tracer);
    atomic_store(&tracer.shared->tiers[3], PROBE_FULL);
    begin(&tracer, false, true);
    kill_tracer(&tracer);
    CU_ASSERT_FALSE(is_removed(&tracer)); /* its keeper was reaped before */
    CU_ASSERT_EQUAL(atomic_load(&tracer.shared->tiers[3]), PROBE_FULL);
    end(&tracer);
}

/* Without a keeper nothing is sent anywhere. */
static void test_none(void)
{
    struct inject_keeper none = {0};
    inject_keeper_watch(&none, getpid(), false, -1);
    inject_keeper_forget(&none, getpid());
    inject_keeper_end(&none);
    CU_ASSERT_EQUAL(none.pid, 0);
}

/* The lock's file shows nothing any more once the process has executed something. */
static void test_stale_lock(void)
{
    int ends[2], fd = -1;
    char byte;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t pid = fork();
    if (!pid) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(ends[0], &byte, 1) == 1)
            execl("/bin/sleep", "sleep", "60", (char *)NULL);
        _exit(127);
    }
    CU_ASSERT_EQUAL_FATAL(inject_lock(pid, &fd, &error), 0);
    CU_ASSERT_FALSE(inject_lock_is_stale(pid, fd));
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    for (int i = 0; i < 30000 && !inject_lock_is_stale(pid, fd); i++)
        child_pause();
    CU_ASSERT_TRUE(inject_lock_is_stale(pid, fd));
    CU_ASSERT_TRUE(inject_lock_has_become_stale(pid, fd));
    CU_ASSERT_EQUAL(inject_refuse_executed(pid, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "before its probes were in place"));
    close(fd);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(inject_lock(pid, &fd, &error), SPROF_ENOTFOUND);
    close(ends[0]);
    close(ends[1]);
}

void sprof_suite_inject_keeper(void);

void sprof_suite_inject_keeper(void)
{
    CU_pSuite suite = CU_add_suite("inject/keeper", NULL, NULL);
    CU_add_test(suite, "a killed tracer", test_killed);
    CU_add_test(suite, "a program that was left", test_forgotten);
    CU_add_test(suite, "a tracer that has ended it", test_ended);
    CU_add_test(suite, "no keeper", test_none);
    CU_add_test(suite, "a lock after an exec", test_stale_lock);
}
