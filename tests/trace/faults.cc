/* Handlers of faults throw, and callers of who faulted catch: in every round each of them, or the program says how many
 * were missed. One has what was written to a protected page written after all. With STACK also where the stack ends, and
 * where the handler jumps.
 *
 *     faults ROUNDS [FILE]     goes on until FILE exists, where one is given
 *
 * SHOW in the environment has a handler show the stack, WAITS has it wait.
 */
#include "faulting.h"

#include <csetjmp>
#include <csignal>
#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <alloca.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define NI __attribute__((noinline))

struct fault {
    int signal;
};

static bool shows, jumps;
static sigjmp_buf above;

static void handle(int signal, siginfo_t *info, void *)
{
    if (info->si_addr >= barrier && info->si_addr < barrier + 512) {
        mprotect(barrier, sizeof barrier, PROT_READ | PROT_WRITE);
        return;
    }
    if (jumps)
        siglongjmp(above, 1);
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
    feenableexcept(FE_DIVBYZERO);
    catches(SIGFPE, [] { quotient += add_to_none(3, 4); });
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
    for (long i = atol(arguments[1]); i > 0; i--) {
        mprotect(barrier, sizeof barrier, PROT_READ);
        cross(i);
        wrong += barrier[3] != i;
        once();
    }
    while (count > 2 && access(arguments[2], F_OK))
        once();
#ifdef STACK
    const rlimit room = {1 << 19, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &room);
    for (size_t i = 1; i < 256; i += 16) /* so that each of its instructions is where the stack ends */
        catches(SIGSEGV, [i] { int sum = 0; static_cast<volatile char *>(alloca(i))[0] = 1; out += deep(0, &sum); });
#endif
#ifdef STACK
    jumps = true;
    for (volatile size_t i = 1; i < 256; i += 16)
        if (!sigsetjmp(above, 1)) {
            int sum = 0;
            static_cast<volatile char *>(alloca(16))[0] = 1;
            wrong += deep(0, &sum) != 0;
        }
#endif
    printf("%ld wrong\n", wrong);
    fflush(stdout);
}
