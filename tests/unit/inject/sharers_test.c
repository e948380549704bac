/* Processes with the same memory are found, and those that only look like it are not. */
#include "inject/sharers.h"
#include "tests/unit/inject/child.h"
#include "tests/unit/skip.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

static int wait_to_be_killed(void *context)
{
    (void)context;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
    return 0;
}

static void make_sharer(struct child_shared *shared)
{
    enum { STACK = 65536 };
    uint8_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shared->errnum = clone(wait_to_be_killed, stack + STACK, CLONE_VM | SIGCHLD, NULL);
}

static void make_fork(struct child_shared *shared)
{
    const pid_t pid = fork();
    if (!pid)
        wait_to_be_killed(NULL);
    shared->errnum = pid;
}

static void test_sharer(void)
{
    struct sprof_id_list sharers = {0};
    struct child child = child_make(make_sharer);
    child_wait(&child, 1);
    const pid_t sharer = child.shared->errnum;
    CU_ASSERT_FATAL(sharer > 0);
    if (syscall(SYS_kcmp, child.pid, sharer, 1, 0, 0)) {
        sprof_test_skip("kcmp(2) is not permitted");
    } else {
        CU_ASSERT_EQUAL(inject_sharers_find(child.pid, &sharers), 0);
        CU_ASSERT_EQUAL_FATAL(sharers.count, 1);
        CU_ASSERT_EQUAL(sharers.items[0], sharer);
        CU_ASSERT_TRUE(inject_has_sharer(child.pid));
        CU_ASSERT_TRUE(inject_has_sharer(sharer)); /* and the other way round */
        CU_ASSERT_TRUE(inject_has_lasting_sharer(child.pid));
    }
    kill(sharer, SIGKILL);
    CU_ASSERT_EQUAL(child_end(&child), 9);
    sprof_vec_release(&sharers);
}

static pid_t fork_sleeper(void)
{
    const pid_t pid = fork();
    if (!pid)
        wait_to_be_killed(NULL);
    return pid;
}

static void make_sharer_when_told(struct child_shared *shared)
{
    shared->is_ready++;
    while (!shared->turns)
        child_pause();
    make_sharer(shared);
}

/* Also one that began after the first look, and not tasks that are none. */
static void test_look_again(void)
{
    struct inject_sharers sharers = {0};
    struct child child = child_make(make_sharer_when_told);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL(inject_sharers_look(child.pid, &sharers), 0);
    CU_ASSERT_EQUAL(sharers.list.count, 0);
    const pid_t other = fork_sleeper();
    CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
    CU_ASSERT_EQUAL(sharers.list.count, 0);
    child.shared->turns = 1;
    child_wait(&child, 2);
    if (syscall(SYS_kcmp, child.pid, child.shared->errnum, 1, 0, 0)) {
        sprof_test_skip("kcmp(2) is not permitted");
    } else {
        for (int i = 0; i < 2; i++) { /* new, then known */
            CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
            CU_ASSERT_EQUAL_FATAL(sharers.list.count, 1);
            CU_ASSERT_EQUAL(sharers.list.items[0], child.shared->errnum);
        }
        sharers.list.count = 0; /* as if its clone(2) had not been complete */
        CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
        CU_ASSERT_EQUAL(sharers.list.count, 1);
        CU_ASSERT_EQUAL(inject_sharers_look(child.pid, &sharers), 0);
        sharers.list.count = 0;
        CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
        CU_ASSERT_TRUE(sharers.list.count == 1 || sharers.newest - child.shared->errnum >= 64);
        sharers.newest = 0; /* not known */
        CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
        CU_ASSERT_EQUAL(sharers.list.count, 1);
        kill(child.shared->errnum, SIGKILL);
        for (int i = 0; i < 2000 && inject_has_sharer(child.pid); i++)
            child_pause();
        CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
        CU_ASSERT_EQUAL(sharers.list.count, 0);
    }
    kill(child.shared->errnum, SIGKILL);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    CU_ASSERT_EQUAL(child_end(&child), 9);
    sprof_vec_release(&sharers.list);
}

/* Its threads are not processes with the same memory. */
static void *stand(void *shared)
{
    ((struct child_shared *)shared)->is_ready++;
    for (;;)
        pause();
    return NULL;
}

static void make_thread_when_told(struct child_shared *shared)
{
    pthread_t thread;
    shared->is_ready++;
    while (!shared->turns)
        child_pause();
    pthread_create(&thread, NULL, stand, shared);
}

static void test_new_thread(void)
{
    struct inject_sharers sharers = {0};
    struct child child = child_make(make_thread_when_told);
    child_wait(&child, 1);
    CU_ASSERT_EQUAL(inject_sharers_look(child.pid, &sharers), 0);
    child.shared->turns = 1;
    child_wait(&child, 3);
    CU_ASSERT_EQUAL(inject_sharers_look_again(child.pid, &sharers), 0);
    CU_ASSERT_EQUAL(sharers.list.count, 0);
    CU_ASSERT_EQUAL(child_end(&child), 9);
    sprof_vec_release(&sharers.list);
}

/* A forked process has a copy. */
static void test_fork(void)
{
    struct child child = child_make(make_fork);
    child_wait(&child, 1);
    CU_ASSERT_FALSE(inject_has_sharer(child.pid));
    CU_ASSERT_FALSE(inject_has_sharer(child.shared->errnum));
    kill(child.shared->errnum, SIGKILL);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* kcmp(2) takes ended processes for equal. */
static void test_ended(void)
{
    siginfo_t ended;
    struct sprof_id_list sharers = {0};
    const pid_t first = fork();
    if (!first)
        _exit(0);
    const pid_t second = fork();
    if (!second)
        _exit(0);
    waitid(P_PID, (id_t)first, &ended, WEXITED | WNOWAIT);
    waitid(P_PID, (id_t)second, &ended, WEXITED | WNOWAIT);
    CU_ASSERT_EQUAL(inject_sharers_find(first, &sharers), 0);
    CU_ASSERT_EQUAL(sharers.count, 0);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    CU_ASSERT_EQUAL(inject_sharers_find(first, &sharers), 0); /* no such process */
    CU_ASSERT_EQUAL(sharers.count, 0);
    CU_ASSERT_FALSE(inject_has_lasting_sharer(first));
    sprof_vec_release(&sharers);
}

static void *run_vfork(void *shared)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const pid_t parent = getpid();
    ((struct child_shared *)shared)->is_ready++;
    const pid_t pid = vfork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) /* it may have ended before that */
            nanosleep(&pause, NULL);
        _exit(0);
    }
    return NULL;
}

static void make_vfork(struct child_shared *shared)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_vfork, shared);
}

/* A vfork child shares memory until it executes a program, while its parent waits. */
static void test_vfork(void)
{
    struct child child = child_make(make_vfork);
    child_wait(&child, 2);
    for (int i = 0; i < 2000 && !inject_has_sharer(child.pid); i++)
        child_pause();
    CU_ASSERT_TRUE(inject_has_sharer(child.pid));
    CU_ASSERT_FALSE(inject_has_lasting_sharer(child.pid));
    kill(child.pid, SIGKILL);
    CU_ASSERT_EQUAL(child_end(&child), -1);
}

void sprof_suite_inject_sharers(void);

void sprof_suite_inject_sharers(void)
{
    CU_pSuite suite = CU_add_suite("inject/sharers", NULL, NULL);
    CU_add_test(suite, "the same memory", test_sharer);
    CU_add_test(suite, "the same memory since a look", test_look_again);
    CU_add_test(suite, "a thread since a look", test_new_thread);
    CU_add_test(suite, "a copy", test_fork);
    CU_add_test(suite, "ended processes", test_ended);
    CU_add_test(suite, "a vfork child", test_vfork);
}
