/* Handlers of faults throw, and callers of who faulted catch: in every round each of them, or the program says how many
 * were missed. With STACK also where the stack ends.
 *
 *     faults ROUNDS [FILE]     goes on until FILE exists, where one is given
 *
 * SHOW in the environment has a handler show the stack, WAITS has it wait.
 */
#include "faulting.h"

#include <csignal>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <unistd.h>

#define NI __attribute__((noinline))

struct fault {
    int signal;
};

static bool shows;

static void handle(int signal, siginfo_t *, void *)
{
    if (shows && signal == SIGSEGV) {
        void *frames[64];
        const int depth = backtrace(frames, 64);
        char **names = backtrace_symbols(frames, depth);
        for (int i = 0; i < depth; i++)
            if (const char *name = strchr(names[i], '('))
                if (strstr(name, "member") || strstr(name, "middle") || strstr(name, "main"))
                    printf("%.*s\n", (int)strcspn(name + 1, "+"), name + 1);
        shows = false;
    }
    if (signal == SIGSEGV && getenv("WAITS")) {
        puts("waits");
        fflush(stdout);
        sleep(60);
    }
    throw fault{signal};
}

int shape::sides(int n)
{
    return n;
}

struct leaves {
    ~leaves() { out += 5; }
};

[[maybe_unused]] NI static long middle(cell *c)
{
    leaves here;
    return c->member() * 2;
}

#ifdef STACK
NI static int deep(int n, int *sum)
{
    int room[30];
    room[n % 30] = n;
    *sum += deep(n + 1, room) + room[(n + 7) % 30] % 2;
    return n;
}
#endif

static long wrong;
[[maybe_unused]] static double quotient;

template <typename F> static void catches(int signal, F faults)
{
    try {
        faults();
    } catch (const fault &f) {
        wrong += f.signal != signal;
        return;
    }
    wrong++;
}

static void take(int signal, char *stack)
{
    stack_t alternate = {stack, 0, 1 << 16};
    struct sigaction action = {};
    sigaltstack(&alternate, nullptr);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
}

static void once()
{
    catches(SIGFPE, [] { out += divide(3, 0); });
    catches(SIGFPE, [] { out += divide_by_zero(3); });
#ifndef LATER /* LLVM's unwinder looks before the instruction, which is another function */
    feenableexcept(FE_DIVBYZERO); /* a handler begins without, and leaves it so */
    catches(SIGFPE, [] { quotient += divide_by_none(3); });
    catches(SIGSEGV, [] { out += middle(nullptr); });
    catches(SIGSEGV, [] { store(nullptr); });
    catches(SIGSEGV, [] { out += through_table(nullptr, 3); });
#endif
    catches(SIGSEGV, [] { out += behind_branch(0, nullptr); });
#ifdef OWN
    wrong += own(nullptr) != -1;
#endif
}

int main(int count, char **arguments)
{
    static char stack[1 << 16];
    take(SIGSEGV, stack);
    take(SIGFPE, stack);
    shows = getenv("SHOW") != nullptr;
    for (long i = atol(arguments[1]); i > 0; i--)
        once();
    while (count > 2 && access(arguments[2], F_OK))
        once();
#ifdef STACK
    for (int i = 0; i < 3; i++)
        catches(SIGSEGV, [] { int sum = 0; out += deep(0, &sum); });
#endif
    printf("%ld wrong\n", wrong);
    fflush(stdout);
}
