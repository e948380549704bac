/* The sampling agent's helper thread, for rates above the kernel's tick: it expires second timers
 * of running threads.
 *
 * clone creates it without thread-local storage, so libc regards the program as single-threaded.
 * It calls nothing in libc that sets errno. Its own descriptor table leaves the program's numbers
 * alone. */
#include "agent/preload/preload.h"

#include "base/compat.h"
#include SPROF_ARCH_CONTEXT_HEADER

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 << 10,
    GUARD_BYTES = 4096,
    FILES_KEPT = 512,  /* others are reopened each time */
    SHARE = 10,        /* it works 1/SHARE of the time */
    NAP_NS = 10000000, /* pause added while it does not help */
    READY_S = 1,       /* time to close descriptors */
    REST_LOOKS = 64,   /* idle checks, until it slows down */
    ALONE_LOOKS = 128, /* idle checks, until is_alone() */
    ALL_SIGNALS_BYTES = 8,
};

enum { NONE, STARTS, WORKS };
static _Atomic uint32_t state; /* a futex */
static _Atomic bool must_end;
static _Atomic uint64_t interval_ns;
static uint8_t *stack;
static struct {
    int fd; /* 0: none */
    pid_t tid;
} files[FILES_KEPT];

#define CALL(number, a, b, c, d)                                                                   \
    arch_context_call(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d))

uint64_t agent_helper_interval_ns(void)
{
    return atomic_load_explicit(&state, memory_order_relaxed) == WORKS
               ? atomic_load_explicit(&interval_ns, memory_order_relaxed)
               : 0;
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec time;
    if (CALL(clock_gettime, clock, &time, 0, 0))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* == The thread that works == */

static int open_file(pid_t tid)
{
    static const char before[] = "/proc/self/task/", after[] = "/syscall";
    char path[sizeof before + sizeof after + 12], digits[12];
    size_t count = 0, length = sizeof before - 1;
    memcpy(path, before, length);
    for (uint32_t rest = (uint32_t)tid; rest; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count)
        path[length++] = digits[--count];
    memcpy(path + length, after, sizeof after);
    return (int)CALL(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* The file holds "running", also while the thread waits for a CPU, or a system call
 * (Documentation/filesystems/proc.rst). */
static bool says_running(int fd)
{
    char first = 0;
    return CALL(pread64, fd, &first, 1, 0) == 1 && first == 'r';
}

static bool is_running(size_t slot, pid_t tid)
{
    if (slot >= FILES_KEPT) {
        const int fd = open_file(tid);
        const bool runs = fd >= 0 && says_running(fd);
        if (fd >= 0)
            CALL(close, fd, 0, 0, 0);
        return runs;
    }
    if (files[slot].fd > 0 && files[slot].tid != tid) {
        CALL(close, files[slot].fd, 0, 0, 0);
        files[slot].fd = 0;
    }
    if (files[slot].fd <= 0) {
        files[slot].fd = open_file(tid);
        files[slot].tid = tid;
    }
    return files[slot].fd > 0 && says_running(files[slot].fd);
}

/* The clock is not enough: if the thread sleeps by now, a signal would end its system call. */
static bool look_at(size_t slot, bool helps)
{
    struct agent_thread *thread = &agent_threads[slot];
    const pid_t tid =
        (pid_t)atomic_load_explicit(&agent_process.shared->slots[slot].tid, memory_order_relaxed);
    const int32_t poke = atomic_load_explicit(&thread->poke, memory_order_relaxed);
    const uint64_t cpu_ns = tid && poke >= 0 ? clock_of((clockid_t)(~(unsigned)tid << 3 | 6)) : 0;
    if (!cpu_ns ||
        cpu_ns == atomic_exchange_explicit(&thread->looked_at_ns, cpu_ns, memory_order_relaxed))
        return false;
    const struct itimerspec at_once = {.it_value = {.tv_nsec = 1}};
    if (helps && is_running(slot, tid)) {
        atomic_store_explicit(&thread->poked_ns, clock_of(CLOCK_MONOTONIC), memory_order_relaxed);
        CALL(timer_settime, poke, 0, &at_once, 0);
    }
    return true;
}

static bool look(bool helps)
{
    const uint32_t used =
        atomic_load_explicit(&agent_process.shared->control.slots_used, memory_order_relaxed);
    bool any = false;
    for (size_t i = 0; i < used && i < AGENT_SLOTS; i++)
        any |= look_at(i, helps);
    return any;
}

/* == Its life == */

/* The helper must not be the process's last thread. */
static bool is_alone(void)
{
    char text[512];
    const int fd = (int)CALL(openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    const long length = fd < 0 ? 0 : CALL(read, fd, text, sizeof text - 1, 0);
    if (fd >= 0)
        CALL(close, fd, 0, 0, 0);
    if (length <= 0)
        return false;
    text[length] = 0;
    const char *at = text + length;
    while (at > text && *at != ')')
        at--;
    if (at + 2 >= text + length || at[2] != 'Z')
        return false;
    for (int field = 2; field < 20 && *at; at++) /* field 20: threads (proc(5)) */
        field += *at == ' ';
    return at[0] <= '2' && at[0] >= '0' && at[1] == ' ';
}

static void wait_until(uint64_t time_ns)
{
    const struct timespec when = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};
    CALL(clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &when, 0);
}

static uint64_t next_period_ns(uint64_t look_ns)
{
    const uint64_t wanted_ns =
        atomic_load_explicit(&agent_process.shared->control.period_ns, memory_order_relaxed);
    return wanted_ns > look_ns * SHARE ? wanted_ns : look_ns * SHARE;
}

/* Intervals vary by ±30 %, out of step with the program. If they exceed the tick, only the tick
 * samples. */
static void help(void)
{
    struct agent_control *control = &agent_process.shared->control;
    const uint64_t tick_ns = agent_process.tick_ns;
    uint64_t used_ns = clock_of(CLOCK_THREAD_CPUTIME_ID), last_ns = clock_of(CLOCK_MONOTONIC);
    uint64_t next_ns = last_ns, period_ns = next_period_ns(0);
    unsigned idle = 0;
    while (agent_active() && !atomic_load_explicit(&must_end, memory_order_relaxed)) {
        const bool helps = period_ns < tick_ns &&
                           atomic_load_explicit(&control->state, memory_order_relaxed) == AGENT_RUN;
        const uint64_t now_ns = clock_of(CLOCK_MONOTONIC), before_ns = used_ns;
        atomic_store_explicit(&interval_ns, helps ? now_ns - last_ns + 1 : 0, memory_order_relaxed);
        idle = look(helps) ? 0 : idle + 1;
        if (idle % ALONE_LOOKS == ALONE_LOOKS - 1 && is_alone())
            return;
        used_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
        atomic_store_explicit(&control->helper_ns, used_ns, memory_order_relaxed);
        period_ns = next_period_ns(used_ns - before_ns);
        const bool rests = idle > REST_LOOKS && period_ns < tick_ns;
        const uint64_t wait_ns = !helps ? period_ns + NAP_NS : rests ? tick_ns : period_ns;
        next_ns = (next_ns + wait_ns < now_ns ? now_ns : next_ns) + wait_ns * 7 / 10 +
                  agent_random_below(wait_ns * 6 / 10 + 1, now_ns, agent_process.pid);
        last_ns = now_ns;
        wait_until(next_ns);
    }
}

static void close_all(void)
{
    if (CALL(close_range, 0, ~0U, 0, 0) == 0)
        return;
    for (int fd = 0; fd < 65536; fd++) /* before Linux 5.9 */
        CALL(close, fd, 0, 0, 0);
}

static int run(void *unused)
{
    (void)unused;
    struct agent_control *control = &agent_process.shared->control;
    close_all();
    CALL(prctl, PR_SET_NAME, "sprof-agent", 0, 0);
    CALL(prctl, PR_SET_TIMERSLACK, 1, 0, 0);
    const int fd = open_file(agent_process.pid);
    if (fd >= 0) { /* else threads are not found */
        files[0].fd = fd;
        files[0].tid = agent_process.pid;
        atomic_store(&control->helper_tid, (uint32_t)CALL(gettid, 0, 0, 0, 0));
        atomic_store(&state, WORKS);
        CALL(futex, &state, FUTEX_WAKE_PRIVATE, 1, 0);
        help();
    }
    atomic_store(&state, NONE);
    CALL(futex, &state, FUTEX_WAKE_PRIVATE, 1, 0);
    return 0;
}

static bool make_stack(void)
{
    if (stack)
        return true;
    uint8_t *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    mprotect(memory, GUARD_BYTES, PROT_NONE);
    stack = memory;
    return true;
}

/* Blocks all signals: it would run the program's handlers. */
void agent_helper_start(void)
{
    const int flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    const uint64_t all = ~UINT64_C(0);
    const struct timespec patience = {.tv_sec = READY_S};
    uint64_t before;
    if (!agent_timer_is(AGENT_CLOCK_FINE) || !make_stack())
        return;
    const int saved = errno;
    atomic_store(&must_end, false);
    atomic_store(&interval_ns, atomic_load_explicit(&agent_process.shared->control.period_ns,
                                                    memory_order_relaxed));
    atomic_store(&state, STARTS);
    CALL(rt_sigprocmask, SIG_SETMASK, &all, &before, ALL_SIGNALS_BYTES);
    const int tid = agent_next()->clone(run, stack + STACK_BYTES, flags, NULL);
    CALL(rt_sigprocmask, SIG_SETMASK, &before, NULL, ALL_SIGNALS_BYTES);
    if (tid < 0)
        atomic_store(&state, NONE);
    else /* else the program's pipes may stay open briefly */
        CALL(futex, &state, FUTEX_WAIT_PRIVATE, STARTS, &patience);
    errno = saved;
}

void agent_helper_begin_child(void)
{
    atomic_store(&state, NONE);
    memset(files, 0, sizeof files);
}

static void end_helper(void)
{
    const struct timespec moment = {.tv_nsec = 100000};
    if (!agent_active() || !agent_timer_is(AGENT_CLOCK_FINE) ||
        CALL(getpid, 0, 0, 0, 0) != agent_process.pid) /* a child of vfork */
        return;
    const long tid =
        atomic_load_explicit(&agent_process.shared->control.helper_tid, memory_order_relaxed);
    atomic_store(&must_end, true);
    for (int i = 0; i < 5000 && tid && !CALL(tgkill, agent_process.pid, tid, 0, 0); i++)
        CALL(nanosleep, &moment, 0, 0, 0);
}

/* == What a program with two threads may not do == */

/* With several threads the kernel refuses some changes, and applies others to one: the helper would
 * keep dropped rights. So it ends, and only the tick samples. */
#define WITHOUT_HELPER(name, parameters, arguments)                                                \
    AGENT_EXPORT int name parameters                                                               \
    {                                                                                              \
        end_helper();                                                                              \
        return agent_next()->name arguments;                                                       \
    }

WITHOUT_HELPER(unshare, (int flags), (flags))
WITHOUT_HELPER(setns, (int fd, int kind), (fd, kind))
WITHOUT_HELPER(setuid, (uid_t id), (id))
WITHOUT_HELPER(setgid, (gid_t id), (id))
WITHOUT_HELPER(seteuid, (uid_t id), (id))
WITHOUT_HELPER(setegid, (gid_t id), (id))
WITHOUT_HELPER(setreuid, (uid_t real, uid_t effective), (real, effective))
WITHOUT_HELPER(setregid, (gid_t real, gid_t effective), (real, effective))
WITHOUT_HELPER(setresuid, (uid_t real, uid_t effective, uid_t kept), (real, effective, kept))
WITHOUT_HELPER(setresgid, (gid_t real, gid_t effective, gid_t kept), (real, effective, kept))
