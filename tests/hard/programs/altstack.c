/* A handler on an alternate stack that interrupts a computation wherever it is, and one that is
 * entered at the very first instruction of a function, whose frame has no return address of its own
 * before it: looking that pc up one byte earlier finds another function. */
#include "hard.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

void trap_first(void);

/* neighbour has a frame that trap_first has not. */
__asm__(".text\n"
        ".type neighbour, @function\n"
        "neighbour:\n"
        ".cfi_startproc\n"
        "sub $72, %rsp\n"
        ".cfi_def_cfa_offset 80\n"
        "hlt\n"
        ".cfi_endproc\n"
        ".size neighbour, . - neighbour\n"
        ".type trap_first, @function\n"
        ".globl trap_first\n"
        "trap_first:\n"
        ".cfi_startproc\n"
        "ud2\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size trap_first, . - trap_first\n");

static volatile sig_atomic_t handled;

NOINLINE static void handler_leaf(void)
{
    BURN(1000000);
}

NOINLINE static void on_timer(int number)
{
    (void)number;
    handler_leaf();
    handled++;
}

NOINLINE static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    ucontext_t *interrupted = context;
    BURN(1000000);
    interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

NOINLINE static void interrupted(void)
{
    BURN(2000000);
}

NOINLINE static void trapping(void)
{
    trap_first();
    NO_TAIL_CALL();
}

static void install(int number, void (*plain)(int), void (*full)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_flags = SA_ONSTACK | SA_RESTART | (full ? SA_SIGINFO : 0)};
    if (full)
        action.sa_sigaction = full;
    else
        action.sa_handler = plain;
    if (sigaction(number, &action, NULL))
        exit(3);
}

int main(void)
{
    static char stack[1 << 16];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&alternate, NULL))
        return 3;
    install(SIGVTALRM, on_timer, NULL);
    install(SIGILL, NULL, on_trap);
    const struct itimerval interval = {{0, 4000}, {0, 4000}};
    setitimer(ITIMER_VIRTUAL, &interval, NULL);
    while (handled < 250)
        interrupted();
    const struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_VIRTUAL, &off, NULL);
    for (int i = 0; i < 250; i++)
        trapping();
    /* The stack beyond the alternate one is read from the live process: it lives on a little. */
    for (int i = 0; i < 50; i++)
        interrupted();
    return 0;
}
