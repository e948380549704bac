/* Keeps SIGPROF deliverable, hides it from programs that wait for signals, and leaves it to
 * programs that use it. */
#include "agent/preload/preload.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program's disposition of SIGPROF, as without the agent. */
static struct sigaction programs;

static void call_program(int number, siginfo_t *info, void *context)
{
    if (programs.sa_flags & SA_SIGINFO) {
        programs.sa_sigaction(number, info, context);
    } else if (programs.sa_handler == SIG_DFL) { /* SIGPROF ends such a program */
        const struct sigaction none = {.sa_handler = SIG_DFL};
        agent_next()->sigaction(SIGPROF, &none, NULL);
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGPROF);
    } else if (programs.sa_handler != SIG_IGN) {
        programs.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    if (!agent_take_sample(info, context))
        call_program(number, info, context);
}

/* On other clocks than the CPU's the agent's signals end system calls early, which the program may
 * not expect. */
static bool interrupts(void)
{
    return agent_process.shared && !agent_timer_is(AGENT_CLOCK_CPU);
}

/* A thread's alternate stack holds frames of a handler that continues later. */
static _Atomic bool is_alternate_kept;

static int install(const struct sigaction *like)
{
    const int stack = agent_alternate_is_tiny() || atomic_load(&is_alternate_kept) ? 0 : SA_ONSTACK;
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_mask = like->sa_mask,
                               .sa_flags = SA_SIGINFO | stack | SA_RESTART};
    if (like->sa_handler != SIG_DFL && like->sa_handler != SIG_IGN && !interrupts())
        action.sa_flags =
            SA_SIGINFO | stack | (like->sa_flags & (SA_RESTART | SA_NODEFER | SA_NOCLDSTOP));
    return agent_next()->sigaction(SIGPROF, &action, NULL);
}

static bool is_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static bool installed;

bool agent_handler_install(void)
{
    if (agent_next()->sigaction(SIGPROF, NULL, &programs) || is_handler(&programs))
        return false;
    installed = install(&programs) == 0;
    return installed;
}

AGENT_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    /* first, as an expiry may follow at once */
    if (installed && agent_alternate_note(stack))
        install(&programs);
    return (int)syscall(SYS_sigaltstack, stack, old);
}

void agent_handler_leave_alternate(void)
{
    static atomic_bool is_over; /* each thread installs it until one has */
    if (!installed || atomic_load(&is_over))
        return;
    atomic_store(&is_alternate_kept, true);
    atomic_store(&is_over, install(&programs) == 0);
}

/* == Dispositions == */

void agent_stand_back(void)
{
    if (!installed)
        return;
    if (agent_active())
        atomic_store(&agent_process.shared->control.standing, AGENT_HAS_HANDLER);
    agent_process.has_handler = true;
}

AGENT_EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    const struct agent_next *next = agent_next();
    if (number != SIGPROF || !installed) {
        struct sigaction changed;
        const struct agent_handler before = agent_alternate_handler(number);
        if (!installed)
            return next->sigaction(number, action, old);
        if (action) {
            changed = *action;
            agent_alternate_enter(number, &changed);
        }
        const int result = next->sigaction(number, action ? &changed : NULL, old);
        if (!result && old)
            agent_alternate_hide(&before, old);
        return result;
    }
    const struct sigaction before = programs;
    if (action) {
        programs = *action;
        if (install(action))
            return -1;
    }
    if (old)
        *old = before;
    return 0;
}

AGENT_EXPORT void (*signal(int number, void (*handler)(int)))(int)
{
    if (number != SIGPROF || !installed) {
        const struct agent_handler before = agent_alternate_handler(number);
        struct sigaction old = {.sa_handler = agent_next()->signal(number, handler)};
        if (old.sa_handler != SIG_ERR)
            agent_alternate_hide(&before, &old);
        return old.sa_handler;
    }
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction old;
    return sigaction(SIGPROF, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* == Masks == */

static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
    if (!set || !installed || agent_process.has_handler || sigismember(set, SIGPROF) != 1)
        return set;
    *copy = *set;
    sigdelset(copy, SIGPROF);
    return copy;
}

/* Must not block libc's signals (32 to 34). */
static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
    enum { WORD = 8 };
    const uint64_t libcs = UINT64_C(7) << 31, ours = UINT64_C(1) << (SIGPROF - 1);
    sigset_t copy;
    uint64_t mask, before = 0;
    const sigset_t *wanted = how == SIG_UNBLOCK ? set : without(set, &copy);
    if (wanted) {
        memcpy(&mask, wanted, sizeof mask);
        if (how != SIG_UNBLOCK)
            mask &= ~libcs;
        /* Handlers on small stacks block it; jumping out unblocks. */
        if (how != SIG_BLOCK && installed && agent_alternate_is_small() &&
            !agent_process.has_handler)
            mask =
                agent_alternate_is_on_small() == (how == SIG_SETMASK) ? mask | ours : mask & ~ours;
    }
    const long failed =
        syscall(SYS_rt_sigprocmask, how, wanted ? &mask : NULL, old ? &before : NULL, WORD);
    if (!failed && old) {
        memset(old, 0, sizeof before);
        memcpy(old, &before, sizeof before);
    }
    return failed ? -1 : 0;
}

AGENT_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    return change_mask(how, set, old);
}

AGENT_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    const int saved = errno;
    const int failed = change_mask(how, set, old);
    const int result = failed ? errno : 0;
    errno = saved;
    return result;
}

AGENT_EXPORT int sigwait(const sigset_t *restrict set, int *restrict number)
{
    sigset_t copy;
    return agent_next()->sigwait(without(set, &copy), number);
}

AGENT_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    sigset_t copy;
    return agent_next()->sigwaitinfo(without(set, &copy), info);
}

AGENT_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                              const struct timespec *restrict timeout)
{
    sigset_t copy;
    return agent_next()->sigtimedwait(without(set, &copy), info, timeout);
}

AGENT_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;
    return agent_next()->signalfd(fd, without(set, &copy), flags);
}
