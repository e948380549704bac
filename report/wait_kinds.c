/* Says what a thread waits for, by the kind of a wait and the functions on its stack. */
#include "report/wait_kinds.h"

#include "model/model.h"

#include <stddef.h>
#include <string.h>

/* Functions of the C library, and of runtimes that use futexes without it. The first that fits
 * counts. */
static const struct report_wait_function functions[] = {
    {"pthread_mutex_", "for a lock", REPORT_WAIT_LOCK},
    {"pthread_rwlock_", "for a lock", REPORT_WAIT_LOCK},
    {"pthread_spin_", "for a lock", REPORT_WAIT_LOCK},
    {"mtx_lock", "for a lock", REPORT_WAIT_LOCK},
    {"lll_lock", "for a lock", REPORT_WAIT_LOCK},
    {"Mutex::lock_contended", "for a lock", REPORT_WAIT_LOCK}, /* of Rust */
    {"RwLock::read_contended", "for a lock", REPORT_WAIT_LOCK},
    {"RwLock::write_contended", "for a lock", REPORT_WAIT_LOCK},
    {"pthread_cond_", "for a condition", REPORT_WAIT_CONDITION},
    {"cnd_wait", "for a condition", REPORT_WAIT_CONDITION},
    {"cnd_timedwait", "for a condition", REPORT_WAIT_CONDITION},
    {"Condvar::wait", "for a condition", REPORT_WAIT_CONDITION},
    {"runtime.stopm", "for a condition", REPORT_WAIT_CONDITION}, /* a thread of Go without work */
    {"pthread_join", "for a thread's end", REPORT_WAIT_JOIN},
    {"pthread_clockjoin", "for a thread's end", REPORT_WAIT_JOIN},
    {"pthread_timedjoin", "for a thread's end", REPORT_WAIT_JOIN},
    {"thrd_join", "for a thread's end", REPORT_WAIT_JOIN},
    {"pthread_barrier_", "at a barrier", REPORT_WAIT_BARRIER},
    {"sem_wait", "for a semaphore", REPORT_WAIT_SEMAPHORE},
    {"sem_timedwait", "for a semaphore", REPORT_WAIT_SEMAPHORE},
    {"sem_clockwait", "for a semaphore", REPORT_WAIT_SEMAPHORE},
    {"futex_", "for a futex", REPORT_WAIT_UNKNOWN}, /* within all of them */
};

/* All other kinds are system calls' names. */
static const struct {
    const char *kind, *text;
} kinds[] = {
    {"futex", "for a futex"},
    {"sleep", "asleep"},
    {"wait", "for a child process"},
    {"signal", "for a signal"},
    {"page-fault", "for memory of a page fault"},
    {"block-io", "for a disk"},
    {"stopped", "stopped"},
    {"flock", "for a file's lock"},
    {"other", "otherwise"},
    {MODEL_WAIT_UNSEEN, "at places that only BPF shows"},
    {"system-call", "in other system calls"},
};

/* Functions of the C library that wait by one system call, without the underscores before a name.
 */
static const struct {
    const char *function, *kind;
} callers[] = {
    {"nanosleep", "sleep"},
    {"clock_nanosleep", "sleep"},
    {"usleep", "sleep"},
    {"sleep", "sleep"},
    {"poll", "poll"},
    {"ppoll", "poll"},
    {"select", "select"},
    {"pselect", "select"},
    {"epoll_wait", "epoll_wait"},
    {"epoll_pwait", "epoll_wait"},
    {"epoll_pwait2", "epoll_wait"},
    {"accept", "accept"},
    {"accept4", "accept"},
    {"wait4", "wait"},
    {"waitpid", "wait"},
    {"waitid", "wait"},
    {"sigwait", "signal"},
    {"sigwaitinfo", "signal"},
    {"sigtimedwait", "signal"},
    {"sigsuspend", "signal"},
    {"pause", "signal"},
};

const char *report_wait_kind_of_function(const char *name)
{
    name += strspn(name, "_");
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        if (!strcmp(name, callers[i].function))
            return callers[i].kind;
    return NULL;
}

bool report_wait_function_blocks(const char *name)
{
    return strstr(name, "lll_lock_wait") || strstr(name, "futex_") ||
           !strncmp(name, "__timedwait", strlen("__timedwait")); /* of musl */
}

/* Of glibc since 2.41, and of musl. */
bool report_wait_function_enters(const char *name)
{
    static const char *const begins[] = {"__syscall_c", "__internal_syscall_cancel"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    return false;
}

const struct report_wait_function *report_wait_function_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strstr(name, functions[i].part))
            return &functions[i];
    return NULL;
}

const char *report_wait_kind_text(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].kind))
            return kinds[i].text;
    return NULL;
}
