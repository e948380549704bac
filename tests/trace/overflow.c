/* Runs out of its stack, with frames of many sizes, each beginning at many places of a page, on its
 * main thread and on others. The handler looks at the fault as runtimes do: whether it is in the
 * program's own code, near the stack pointer, and as the kernel has it; then it jumps out, or has
 * it go on. Writes how often that was, and how often not so.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    NEAR = 256,  /* OCaml looks as far as that */
    PLACES = 24, /* of 48 bytes */
    STACK = 1 << 17,
    PAGE = 4096
};

extern char __executable_start, etext;
static __thread sigjmp_buf back;
static __thread volatile unsigned faults, wrong;
static __thread char *volatile closed; /* a page that the handler opens */
#define NEVER (1L << 40)
static volatile long end = NEVER;

static void handle(int signal_number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
    const greg_t *registers = interrupted->uc_mcontext.gregs;
    const uintptr_t pc = (uintptr_t)registers[REG_RIP], sp = (uintptr_t)registers[REG_RSP];
    const uintptr_t at = (uintptr_t)info->si_addr;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    faults++;
    if (pc - (uintptr_t)&__executable_start >= (uintptr_t)(&etext - &__executable_start) ||
        at % sizeof(void *) || at + NEAR < sp || at >= sp + PAGE || info->si_code <= 0 ||
        at != (uintptr_t)registers[REG_CR2] || !(registers[REG_ERR] & 4) ||
        !sigismember(&mask, SIGUSR1) || sigismember(&mask, SIGUSR2) ||
        !sigismember(&mask, signal_number) || sigismember(&interrupted->uc_sigmask, SIGSEGV) ||
        sigismember(&interrupted->uc_sigmask, SIGUSR1) ||
        !sigismember(&interrupted->uc_sigmask, SIGHUP))
        wrong++;
    if (closed && at - (uintptr_t)closed < PAGE) {
        mprotect(closed, PAGE, PROT_READ | PROT_WRITE);
        closed = NULL;
        return;
    }
    siglongjmp(back, 1);
}

#define DEEPER(bytes)                                                                              \
    __attribute__((noinline)) long deeper_##bytes(long n, long sum)                                \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        room[0] = (char)n;                                                                         \
        return n == end ? sum : deeper_##bytes(n + 1, sum ^ n) + room[0];                          \
    }
DEEPER(8)
DEEPER(40)
DEEPER(104)
DEEPER(200)
DEEPER(1000)

/* Nothing but pushes; and a stack that is aligned to eight bytes only. */
__attribute__((naked, noinline)) static void pushing(void)
{
    __asm__("push %rax\n\tpush %rbx\n\tpush %rbp\n\tcall pushing\n\tadd $24, %rsp\n\tret");
}

__attribute__((naked, noinline)) static void calling(void)
{
    __asm__("nopl 0(%rax,%rax)\n\tcall calling\n\tret");
}

static void (*volatile const as_used[])(void) = {pushing, calling};

__attribute__((noinline)) static void run_out(int way, int place)
{
    volatile char *room = __builtin_alloca((size_t)(3 * place + 1) * 16);
    room[0] = 1;
    switch (way) {
    case 0: deeper_8(0, 1); break;
    case 1: deeper_40(0, 1); break;
    case 2: deeper_104(0, 1); break;
    case 3: deeper_200(0, 1); break;
    case 4: deeper_1000(0, 1); break;
    default: as_used[way - 5](); break;
    }
}

/* Pages that the handler opens again, each further down than what was used before: all goes on. */
static unsigned open_pages(void)
{
    enum { PAGES = 16, LEAST = 4, FRAME = 200 };
    volatile unsigned kept = 0;
    for (int i = LEAST; i < LEAST + PAGES; i++) {
        const uintptr_t here = (uintptr_t)__builtin_frame_address(0) / PAGE * PAGE;
        closed = (char *)(here - (uintptr_t)i * PAGE);
        mprotect(closed, PAGE, PROT_NONE);
        end = (i + 1) * PAGE / FRAME;
        kept += deeper_200(0, 1) != 0 && !closed;
    }
    end = NEVER;
    return kept;
}

static void *run(void *of_thread)
{
    enum { WAYS = 7 };
    char *alternate = malloc(STACK);
    stack_t stack = {.ss_sp = alternate, .ss_size = STACK};
    volatile unsigned reached = 0;
    sigset_t mask;
    sigaltstack(&stack, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGHUP);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    const unsigned kept = of_thread ? open_pages() : 0;
    for (volatile int i = 0; i < WAYS * PLACES; i++)
        if (!sigsetjmp(back, 1))
            run_out(i % WAYS, i / WAYS);
        else
            reached++;
    printf("%u reached, %u kept, %u faults, %u wrong\n", reached, kept, faults, wrong);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(alternate);
    return NULL;
}

int main(void)
{
    enum { THREADS = 3 };
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t thread;
    pthread_attr_t attributes;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, NULL);
    run(NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&thread, i ? &attributes : NULL, run, &action))
            return 1;
        pthread_join(thread, NULL);
    }
    return 3;
}
