/* Does everything that is hard for who takes probes out while it runs: deep and recursive calls, exceptions,
 * longjmp, coroutines, signals on alternate stacks, children, calls that a stop would cut short.
 *
 *     detach ROUNDS [FILE]     at the end waits until FILE exists, where one is given
 */
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
extern char **environ;

static long rounds;
static volatile bool done;

NI long leaf(long n)
{
    KEEP;
    return n * 7 + 1;
}

NI long fib(long n)
{
    return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2);
}

NI void throws(int n)
{
    if (n)
        throws(n - 1);
    else
        throw n;
    KEEP;
}

NI void jumps(jmp_buf *back, int n)
{
    if (n)
        jumps(back, n - 1);
    else
        longjmp(*back, 1);
    KEEP;
}

NI void in_handler()
{
    KEEP;
    fib(3);
}

static void handler(int)
{
    in_handler();
}

static void *work(void *)
{
    volatile long sum = 0;
    jmp_buf back;
    stack_t stack = {malloc(65536), 0, 65536};
    sigaltstack(&stack, nullptr);
    for (volatile long i = 0; i < rounds; i++) {
        sum += fib(14);
        try {
            throws(5);
        } catch (int) {
            sum += 1;
        }
        if (!setjmp(back))
            jumps(&back, 5);
        free(strdup("some text"));
    }
    return (void *)sum;
}

struct coroutine {
    ucontext_t own, caller;
    char stack[65536];
};

NI void suspend(coroutine *c, int depth)
{
    if (depth)
        suspend(c, depth - 1);
    else
        swapcontext(&c->own, &c->caller);
    KEEP;
}

static void body(unsigned high, unsigned low)
{
    for (;;)
        suspend((coroutine *)((uintptr_t)high << 32 | low), 3);
}

static void *resumes(void *)
{
    coroutine *c = (coroutine *)calloc(1, sizeof *c);
    long count = 0;
    getcontext(&c->own);
    c->own.uc_stack.ss_sp = c->stack;
    c->own.uc_stack.ss_size = sizeof c->stack;
    makecontext(&c->own, (void (*)())body, 2, (unsigned)((uintptr_t)c >> 32), (unsigned)(uintptr_t)c);
    for (; count < rounds * 20; count++)
        swapcontext(&c->caller, &c->own);
    return (void *)count;
}

static void *starts(void *)
{
    long count = 0;
    for (long i = 0; i < rounds / 10; i++) {
        char name[] = "true", *arguments[] = {name, nullptr};
        int status;
        pid_t child;
        if (!posix_spawnp(&child, name, nullptr, nullptr, arguments, environ) && waitpid(child, &status, 0) == child)
            count += !status;
        child = fork();
        if (!child)
            _exit(fib(5) == 0);
        if (waitpid(child, &status, 0) == child)
            count += !status;
    }
    return (void *)count;
}

/* Nothing but being stopped can end its waits. */
static void *waits(void *)
{
    const int epoll = epoll_create1(0);
    struct epoll_event event;
    sigset_t all;
    long cut_short = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!done)
        cut_short += epoll_wait(epoll, &event, 1, 50) < 0 && errno == EINTR;
    return (void *)cut_short;
}

int main(int count, char **arguments)
{
    void *(*const functions[])(void *) = {work, work, resumes, resumes, starts, starts, waits};
    enum { THREADS = sizeof functions / sizeof *functions };
    pthread_t threads[THREADS];
    struct sigaction action = {};
    const struct itimerval timer = {{0, 500}, {0, 500}}, none = {};
    rounds = atol(arguments[1]);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    setitimer(ITIMER_REAL, &timer, nullptr);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], nullptr, functions[i], nullptr);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        done = i == THREADS - 1;
        pthread_join(threads[i], &result);
        printf("%ld\n", (long)result);
    }
    setitimer(ITIMER_REAL, &none, nullptr);
    fflush(stdout);
    for (long waited = 0; count > 2 && access(arguments[2], F_OK) && waited < 300000; waited++)
        usleep(1000);
    return 5;
}
