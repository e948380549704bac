/* Lets handlers on an alternate stack switch contexts, as programs with their own threads do. The
 * handler's frames stay there while code runs on another stack, and the kernel would overwrite them
 * with SIGPROF's frame. So from the first such switch on, SIGPROF uses the interrupted code's
 * stack. */
#include "agent/preload/preload.h"
#include SPROF_ARCH_CONTEXT_HEADER

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_in(const stack_t *stack, uintptr_t address)
{
    return address - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/* A context made in a handler has the handler's mask, and may run for ever. */
static bool is_blocked_in_vain(const ucontext_t *to, const stack_t *alternate)
{
    const uintptr_t sp = arch_context_sp(to);
    return agent_alternate_is_small() && !agent_process.has_handler &&
           sigismember(&to->uc_sigmask, SIGPROF) == 1 && is_in(&to->uc_stack, sp - 1) &&
           !is_in(alternate, sp - 1);
}

static void prepare(const ucontext_t *to, bool is_left)
{
    stack_t now;
    if (!to || !agent_alternate_is_there() || syscall(SYS_sigaltstack, NULL, &now))
        return;
    if (is_left && (now.ss_flags & SS_ONSTACK) && !is_in(&now, arch_context_sp(to) - 1))
        agent_handler_leave_alternate();
    if (is_blocked_in_vain(to, &now))
        sigdelset(&((ucontext_t *)(uintptr_t)to)->uc_sigmask, SIGPROF);
}

AGENT_EXPORT int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
    const struct agent_next *next = agent_next();
    if (next->swapcontext) {
        prepare(to, true);
        return next->swapcontext(from, to);
    }
    errno = ENOSYS;
    return -1;
}

AGENT_EXPORT int setcontext(const ucontext_t *to)
{
    const struct agent_next *next = agent_next();
    if (next->setcontext) {
        prepare(to, false);
        return next->setcontext(to);
    }
    errno = ENOSYS;
    return -1;
}
