/* A child of the test with which it shares memory, and which waits for a word to end. */
#ifndef SPROF_TESTS_UNIT_INJECT_CHILD_H
#define SPROF_TESTS_UNIT_INJECT_CHILD_H

#include "base/base.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child_shared {
    _Atomic uint64_t turns;    /* of a thread that runs */
    _Atomic uint32_t is_ready; /* threads that have begun */
    _Atomic uint32_t returned; /* from calls that are to last */
    _Atomic int32_t errnum;    /* of such a call */
    _Atomic int32_t fd;        /* a descriptor of the child's */
};

struct child {
    pid_t pid;
    int end; /* closed: the child ends with 9 */
    struct child_shared *shared;
};

/* Forks the child, which calls `begin` first, and then waits in read(2). */
static inline struct child child_make(void (*begin)(struct child_shared *shared))
{
    struct child child = {.shared = mmap(NULL, sizeof *child.shared, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    int ends[2];
    char byte;
    CU_ASSERT_NOT_EQUAL_FATAL(child.shared, MAP_FAILED);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    child.pid = fork();
    if (!child.pid) {
        close(ends[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
        if (begin)
            begin(child.shared);
        child.shared->is_ready++;
        _exit(read(ends[0], &byte, 1) == 0 ? 9 : 1);
    }
    CU_ASSERT_FATAL(child.pid > 0);
    close(ends[0]);
    child.end = ends[1];
    return child;
}

static inline void child_pause(void)
{
    const struct timespec time = {.tv_nsec = 2000000};
    nanosleep(&time, NULL);
}

/* Waits until so many threads have begun, and until the first one waits. */
static inline void child_wait(const struct child *child, uint32_t ready)
{
    while (child->shared->is_ready < ready)
        child_pause();
}

/* Lets the child go on to its end. Returns its exit status, -1 after a signal. */
static inline int child_end(struct child *child)
{
    int status = 0;
    close(child->end);
    waitpid(child->pid, &status, 0);
    munmap(child->shared, sizeof *child->shared);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
