/* Keeps SIGPROF off small alternate stacks, where a frame without room would end the program. That
 * shows only when the signal comes, so while any thread has one, handlers on alternate stacks block
 * SIGPROF. A wrapper notes them, so their time does not count for the interrupted code. */
#include "agent/preload/preload.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SMALL_BYTES = 256 << 10, /* handlers that need more risk it */
    OWN_BYTES = 4 << 10,     /* for the agent's handler, and a margin */
    LEAST_FRAME = 2048,      /* if the kernel gives no frame size */
    SIGNALS = 64,
    NOTES = 256, /* by thread id; collisions lose one */
};

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51 /* Linux 5.14 */
#endif

static _Atomic bool has_any, has_small, has_tiny;
static struct agent_handler handlers[SIGNALS + 1]; /* the program's */
static _Atomic pid_t noted[NOTES];

bool agent_alternate_is_there(void)
{
    return atomic_load_explicit(&has_any, memory_order_relaxed);
}

bool agent_alternate_is_small(void)
{
    return atomic_load_explicit(&has_small, memory_order_relaxed);
}

bool agent_alternate_is_tiny(void)
{
    return atomic_load_explicit(&has_tiny, memory_order_relaxed);
}

bool agent_alternate_is_on_small(void)
{
    stack_t now;
    return agent_alternate_is_small() && !syscall(SYS_sigaltstack, NULL, &now) &&
           (now.ss_flags & SS_ONSTACK) && now.ss_size < SMALL_BYTES;
}

bool agent_alternate_was_used(pid_t tid)
{
    pid_t known = tid;
    return agent_alternate_is_small() &&
           atomic_compare_exchange_strong(&noted[tid % NOTES], &known, 0);
}

static void call_handler(int number, siginfo_t *info, void *context)
{
    const struct agent_handler handler = handlers[number];
    const pid_t tid = (pid_t)syscall(SYS_gettid);
    atomic_store(&noted[tid % NOTES], tid);
    if (handler.takes_info)
        handler.with_info(number, info, context);
    else
        handler.plain(number);
}

struct agent_handler agent_alternate_handler(int number)
{
    return number > 0 && number <= SIGNALS ? handlers[number] : (struct agent_handler){0};
}

void agent_alternate_enter(int number, struct sigaction *action)
{
    sigdelset(&action->sa_mask, SIGPROF);
    if (!(action->sa_flags & SA_ONSTACK) || !agent_alternate_is_small() || number <= 0 ||
        number > SIGNALS || action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)
        return;
    handlers[number] = (struct agent_handler){.takes_info = action->sa_flags & SA_SIGINFO,
                                              .with_info = action->sa_sigaction};
    action->sa_sigaction = call_handler;
    action->sa_flags |= SA_SIGINFO;
    sigaddset(&action->sa_mask, SIGPROF);
}

void agent_alternate_hide(const struct agent_handler *handler, struct sigaction *action)
{
    sigdelset(&action->sa_mask, SIGPROF);
    if (action->sa_sigaction != call_handler)
        return;
    action->sa_sigaction = handler->with_info;
    action->sa_flags &= handler->takes_info ? ~0 : ~SA_SIGINFO;
}

/* For handlers that were set before the first small stack. */
static void enter_all(void)
{
    for (int number = 1; number <= SIGNALS; number++) {
        struct sigaction action;
        if (number == SIGPROF || agent_next()->sigaction(number, NULL, &action))
            continue;
        agent_alternate_enter(number, &action);
        if (action.sa_sigaction == call_handler)
            agent_next()->sigaction(number, &action, NULL);
    }
}

static size_t frame_bytes(void)
{
    const size_t bytes = getauxval(AT_MINSIGSTKSZ);
    return bytes > LEAST_FRAME ? bytes : (size_t)LEAST_FRAME;
}

bool agent_alternate_note(const stack_t *stack)
{
    const bool is_any = stack && !(stack->ss_flags & SS_DISABLE),
               is_small = is_any && stack->ss_size < SMALL_BYTES;
    const bool is_first =
        is_small && stack->ss_size < frame_bytes() + OWN_BYTES && !atomic_exchange(&has_tiny, true);
    if (is_any)
        atomic_store(&has_any, true);
    if (is_small && !atomic_exchange(&has_small, true))
        enter_all();
    return is_first;
}
