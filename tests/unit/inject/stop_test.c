/* All threads of a process stand still, and go on as if nothing had been. */
#include "inject/inject.h"
#include "inject/sharers.h"
#include "inject/stop.h"
#include "tests/unit/inject/child.h"
#include "tests/unit/sanitized.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

static void *run(void *shared)
{
    ((struct child_shared *)shared)->is_ready++;
    for (;;)
        ((struct child_shared *)shared)->turns++;
    return NULL;
}

static void make_runner(struct child_shared *shared)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, shared);
}

struct seen {
    struct child_shared *shared;
    const struct inject_stop *stop;
    uint64_t turns_before, turns_after;
    size_t threads;
};

static void watch(void *context)
{
    struct seen *seen = context;
    seen->threads = seen->stop->threads.count;
    seen->turns_before = seen->shared->turns;
    for (int i = 0; i < 5; i++)
        child_pause();
    seen->turns_after = seen->shared->turns;
}

/* No thread makes a step meanwhile. */
static void test_all_stand(void)
{
    struct sprof_error error = {0};
    struct child child = child_make(make_runner);
    struct inject_stop stop = {0};
    struct seen seen = {.shared = child.shared, .stop = &stop};
    child_wait(&child, 2);
    CU_ASSERT_EQUAL_FATAL(inject_stop_while(&stop, child.pid, watch, &seen, &error), 0);
    CU_ASSERT_EQUAL(seen.threads, 2);
    CU_ASSERT_EQUAL(seen.turns_before, seen.turns_after);
    for (int i = 0; i < 5000 && child.shared->turns == seen.turns_after; i++)
        child_pause();
    CU_ASSERT(child.shared->turns > seen.turns_after);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* epoll_wait(2) ends with EINTR whenever its thread is stopped. The program must not see that. */
static void wait_for_event(struct child_shared *shared)
{
    struct epoll_event event = {.events = EPOLLIN};
    const int poll = epoll_create1(0), fd = eventfd(0, 0);
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    shared->fd = fd;
    shared->is_ready++;
    const int count = epoll_wait(poll, &event, 1, 60000);
    shared->errnum = count < 0 ? errno : 0;
    shared->returned++;
}

static void nothing(void *context)
{
    (void)context;
}

static void test_waits_go_on(void)
{
    struct sprof_error error = {0};
    struct child child = child_make(wait_for_event);
    child_wait(&child, 1);
    for (int i = 0; i < 20; i++) {
        struct inject_stop stop = {0};
        CU_ASSERT_EQUAL_FATAL(inject_stop_while(&stop, child.pid, nothing, NULL, &error), 0);
        child_pause();
    }
    CU_ASSERT_EQUAL(child.shared->returned, 0);
    CU_ASSERT_EQUAL(child.shared->errnum, 0);
    kill(child.pid, SIGKILL);
    child_end(&child);
}

static void test_gone(void)
{
    struct sprof_error error = {0};
    struct child child = child_make(NULL);
    struct inject_stop stop = {0};
    const pid_t pid = child.pid;
    CU_ASSERT_EQUAL(child_end(&child), 9);
    CU_ASSERT_EQUAL(inject_stop_while(&stop, pid, nothing, NULL, &error), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(stop.threads.count, 0);
}

static void be_traced(struct child_shared *shared)
{
    (void)shared;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

/* A process that a debugger traces is left to it. */
static void test_traced(void)
{
    struct sprof_error error = {0};
    struct child child = child_make(be_traced);
    struct inject_stop stop = {0};
    child_wait(&child, 1);
    CU_ASSERT_EQUAL(inject_stop_while(&stop, child.pid, nothing, NULL, &error), SPROF_EPERMISSION);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

static void test_one_thread(void)
{
    struct child child = child_make(make_runner);
    child_wait(&child, 2);
    CU_ASSERT_FALSE(inject_thread_would_wait(child.pid, child.pid));
    CU_ASSERT_FALSE(inject_stop_would_wait(child.pid));
    CU_ASSERT_FALSE(inject_thread_would_wait(child.pid, 0x7ffffff0));
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* A parent in vfork(2) does not stop before its child has executed something. */
static void wait_for_child(struct child_shared *shared)
{
    shared->is_ready++;
    if (!vfork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (!shared->returned)
            syscall(SYS_sched_yield);
        _exit(0);
    }
}

static void test_vfork(void)
{
    struct child child = child_make(wait_for_child);
    bool waits = false;
    child_wait(&child, 1);
    for (int i = 0; i < 5000 && !waits; i++, child_pause())
        waits = inject_stop_would_wait(child.pid);
    CU_ASSERT_TRUE(waits);
    CU_ASSERT_TRUE(inject_has_sharer(child.pid));
    CU_ASSERT_FALSE(inject_has_lasting_sharer(child.pid));
    child.shared->returned = 1;
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

static int share(void *shared)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!((struct child_shared *)shared)->returned)
        child_pause();
    return 0;
}

static void make_sharer(struct child_shared *shared)
{
    static char stack[64 << 10] __attribute__((aligned(16)));
    clone(share, stack + sizeof stack, CLONE_VM | SIGCHLD, shared);
}

/* A process that shares the memory of another one goes on while that one's threads stand still. */
static void test_sharers(void)
{
    struct sprof_id_list sharers = {0};
    struct child child = child_make(make_sharer);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL(inject_sharers_find(child.pid, &sharers), 0);
    CU_ASSERT_EQUAL(sharers.count, 1);
    CU_ASSERT_TRUE(inject_has_lasting_sharer(child.pid));
    CU_ASSERT_FALSE(inject_has_sharer(getpid()));
    child.shared->returned = 1;
    for (int i = 0; i < 5000 && inject_has_sharer(child.pid); i++)
        child_pause();
    CU_ASSERT_FALSE(inject_has_sharer(child.pid));
    sprof_vec_release(&sharers);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

void sprof_suite_inject_stop(void);

void sprof_suite_inject_stop(void)
{
    CU_pSuite suite = CU_add_suite("inject/stop", NULL, NULL);
    CU_add_test(suite, "all threads stand", test_all_stand);
    CU_add_test(suite, "waits go on", test_waits_go_on);
    CU_add_test(suite, "a process that is gone", test_gone);
    CU_add_test(suite, "a process that is traced", test_traced);
    CU_add_test(suite, "threads that run", test_one_thread);
    if (SPROF_TEST_SANITIZED)
        return;
    CU_add_test(suite, "a parent in vfork", test_vfork);
    CU_add_test(suite, "processes with one memory", test_sharers);
}
