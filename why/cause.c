/* Finds what a thread does, or waits for, in a sample: by the kind of its wait and its stack. */
#include "why/why.h"

#include <string.h>

static const struct {
    const char *text, *word;
} causes[WHY_CAUSES] = {
    [WHY_COMPUTES] = {"computes", "computing"},
    [WHY_ALLOCATES] = {"allocates and frees memory", "allocation"},
    [WHY_FAULTS] = {"touches new memory (page faults)", "page-faults"},
    [WHY_CALLS_SYSTEM] = {"is in system calls", "system-calls"},
    [WHY_READY] = {"waits for a CPU", "ready"},
    [WHY_LOCK] = {"waits for a lock", "lock"},
    [WHY_CONDITION] = {"waits for a condition variable", "condition"},
    [WHY_SEMAPHORE] = {"waits for a semaphore", "semaphore"},
    [WHY_JOIN] = {"waits for a thread's end", "join"},
    [WHY_BARRIER] = {"waits at a barrier", "barrier"},
    [WHY_FUTEX] = {"waits for a futex", "futex"},
    [WHY_SLEEP] = {"sleeps", "sleep"},
    [WHY_POLL] = {"waits for events", "poll"},
    [WHY_PEER] = {"waits for a peer (socket, pipe)", "peer"},
    [WHY_DISK] = {"waits for the disk", "disk"},
    [WHY_PAGE] = {"waits for pages from the disk", "page"},
    [WHY_CHILD] = {"waits for a child process", "child"},
    [WHY_STOPPED] = {"is stopped", "stopped"},
    [WHY_OTHER] = {"waits in a system call", "other"},
};

/* Kinds of waits, as the recorder calls them. A futex is looked at more closely. */
static const struct {
    const char *kind;
    enum why_cause cause;
} waits[] = {
    {MODEL_WAIT_READY, WHY_READY},
    {"futex", WHY_FUTEX},
    {"sleep", WHY_SLEEP},
    {"poll", WHY_POLL},
    {"select", WHY_POLL},
    {"epoll_wait", WHY_POLL},
    {"signal", WHY_POLL},
    {"read", WHY_PEER},
    {"write", WHY_PEER},
    {"accept", WHY_PEER},
    {"connect", WHY_PEER},
    {"recv", WHY_PEER},
    {"send", WHY_PEER},
    {"splice", WHY_PEER},
    {"ipc", WHY_PEER},
    {"io_uring", WHY_PEER},
    {"aio", WHY_DISK},
    {"fsync", WHY_DISK},
    {"block-io", WHY_DISK},
    {"page-fault", WHY_PAGE},
    {"flock", WHY_LOCK},
    {"wait", WHY_CHILD},
    {"stopped", WHY_STOPPED},
};

/* Functions of the C library that wait by a futex: parts of their names. The first that fits
 * counts; conditions come before locks, which they take. */
static const struct {
    const char *part;
    enum why_cause cause;
} futexes[] = {
    {"pthread_cond_", WHY_CONDITION},
    {"cnd_wait", WHY_CONDITION},
    {"cnd_timedwait", WHY_CONDITION},
    {"pthread_join", WHY_JOIN},
    {"pthread_clockjoin", WHY_JOIN},
    {"pthread_timedjoin", WHY_JOIN},
    {"thrd_join", WHY_JOIN},
    {"pthread_barrier_", WHY_BARRIER},
    {"sem_wait", WHY_SEMAPHORE},
    {"sem_timedwait", WHY_SEMAPHORE},
    {"sem_clockwait", WHY_SEMAPHORE},
    {"pthread_mutex_", WHY_LOCK},
    {"pthread_rwlock_", WHY_LOCK},
    {"mtx_lock", WHY_LOCK},
    {"mtx_timedlock", WHY_LOCK},
    {"lll_lock", WHY_LOCK},
    {"malloc", WHY_LOCK},
    {"arena_get", WHY_LOCK},
};

/* Functions of the C library that wait, where a sample does not say whether its thread did: their
 * names begin so, without leading underscores. */
static const struct {
    const char *begin;
    enum why_cause cause;
} blocking[] = {
    {"clock_nanosleep", WHY_SLEEP},
    {"nanosleep", WHY_SLEEP},
    {"poll", WHY_POLL},
    {"ppoll", WHY_POLL},
    {"select", WHY_POLL},
    {"pselect", WHY_POLL},
    {"epoll_wait", WHY_POLL},
    {"epoll_pwait", WHY_POLL},
    {"sigwait", WHY_POLL},
    {"sigtimedwait", WHY_POLL},
    {"sigsuspend", WHY_POLL},
    {"pause", WHY_POLL},
    {"accept", WHY_PEER},
    {"recv", WHY_PEER},
    {"connect", WHY_PEER},
    {"fsync", WHY_DISK},
    {"fdatasync", WHY_DISK},
    {"sync", WHY_DISK},
    {"wait4", WHY_CHILD},
    {"waitid", WHY_CHILD},
    {"waitpid", WHY_CHILD},
    {"futex", WHY_FUTEX},
    {"lll_lock_wait", WHY_FUTEX},
};

static const char *const allocators[] = {
    "malloc",          "free",         "calloc",         "realloc",
    "cfree",           "memalign",     "posix_memalign", "aligned_alloc",
    "int_malloc",      "int_free",     "int_realloc",    "malloc_consolidate",
    "sysmalloc",       "systrim",      "unlink_chunk",   "operator new",
    "operator delete", "reallocarray",
};
static const char *const allocator_beginnings[] = {
    "tcache_",      "int_free_",       "libc_malloc", "libc_free", "libc_calloc", "libc_realloc",
    "operator new", "operator delete", "int_malloc",  "je_",       "tc_",         "mi_"};

static const char *const fault_parts[] = {"page_fault", "user_addr_fault", "mem_abort"};
static const char *const call_parts[] = {"do_syscall_", "_sys_", "entry_SYSCALL", "el0_svc"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

const char *why_cause_text(enum why_cause cause)
{
    return causes[cause].text;
}

const char *why_cause_word(enum why_cause cause)
{
    return causes[cause].word;
}

bool why_cause_is_wait(enum why_cause cause)
{
    return cause > WHY_READY;
}

static bool has_part(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

static const char *without_underscores(const char *name)
{
    return name + strspn(name, "_");
}

static bool is_allocator(const char *name)
{
    name = without_underscores(name);
    for (size_t i = 0; i < LENGTH(allocators); i++)
        if (!strcmp(name, allocators[i]))
            return true;
    for (size_t i = 0; i < LENGTH(allocator_beginnings); i++)
        if (!strncmp(name, allocator_beginnings[i], strlen(allocator_beginnings[i])))
            return true;
    return false;
}

/* A thread with a CPU. */
static enum why_cause cause_of_work(const struct why_frame *frames, size_t count)
{
    bool calls = false;
    size_t i = 0;
    for (; i < count && frames[i].kind == MODEL_KIND_KERNEL; i++) {
        const char *name = frames[i].name ? frames[i].name : "";
        if (has_part(name, fault_parts, LENGTH(fault_parts)))
            return WHY_FAULTS;
        calls = calls || has_part(name, call_parts, LENGTH(call_parts));
    }
    for (; i < count && !frames[i].is_application; i++)
        if (frames[i].name && is_allocator(frames[i].name))
            return WHY_ALLOCATES;
    return calls ? WHY_CALLS_SYSTEM : WHY_COMPUTES;
}

/* What a futex is, by the functions of libraries that the application called. */
static enum why_cause cause_of_futex(const struct why_frame *frames, size_t count)
{
    for (size_t part = 0; part < LENGTH(futexes); part++)
        for (size_t i = 0; i < count && !frames[i].is_application; i++)
            if (frames[i].name && frames[i].kind != MODEL_KIND_KERNEL &&
                strstr(frames[i].name, futexes[part].part))
                return futexes[part].cause;
    return WHY_FUTEX;
}

static enum why_cause cause_of_names(const struct why_frame *frames, size_t count)
{
    size_t i = 0;
    while (i < count && frames[i].kind == MODEL_KIND_KERNEL)
        i++;
    if (i == count || frames[i].is_application || !frames[i].name)
        return cause_of_work(frames, count);
    const char *name = without_underscores(frames[i].name);
    for (size_t b = 0; b < LENGTH(blocking); b++)
        if (!strncmp(name, blocking[b].begin, strlen(blocking[b].begin)))
            return blocking[b].cause == WHY_FUTEX ? cause_of_futex(frames, count)
                                                  : blocking[b].cause;
    return cause_of_work(frames, count);
}

enum why_cause why_cause_of(const char *wait, const struct why_frame *frames, size_t count)
{
    if (!wait)
        return cause_of_work(frames, count);
    if (!*wait)
        return cause_of_names(frames, count);
    for (size_t i = 0; i < LENGTH(waits); i++)
        if (!strcmp(wait, waits[i].kind))
            return waits[i].cause == WHY_FUTEX ? cause_of_futex(frames, count) : waits[i].cause;
    return WHY_OTHER;
}
