/* What a sample of the SIGPROF agent costs: the handler as it is preloaded, driven by signals that
 * look like its timer's, with slices of several sizes. Each figure has the system call that sends
 * the signal in it, which is measured alone beside it. agent_handler [SAMPLES] */
#include "agent/preload/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TIMER = 42, STACK_BYTES = 128 << 10, TURNS = 9 };
/* In the place of the recorder, which start.c needs. */
static const uint32_t owner = 1;
static _Atomic uint32_t alive = 1;

static void send(int code, struct agent_thread *thread)
{
    siginfo_t info = {.si_signo = SIGPROF, .si_code = code};
    info.si_timerid = TIMER;
    info.si_value.sival_ptr = thread;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGPROF, &info);
}

static double us_each(struct agent_thread *thread, int samples, uint32_t slice_bytes)
{
    struct agent_shared *shared = agent_process.shared;
    atomic_store(&shared->control.slice_bytes, slice_bytes);
    double best = 1e9;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t begin = agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < samples; i++) {
            send(SI_TIMER, thread);
            atomic_store(&shared->slots[0].tail, atomic_load(&shared->heads[0]));
        }
        const double us =
            (double)(agent_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1000 / samples;
        best = us < best ? us : best;
    }
    return best;
}

static void ignore(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    const int samples = argc > 1 ? atoi(argv[1]) : 20000;
    char stack[STACK_BYTES]; /* what a slice is copied from */
    memset(stack, 1, sizeof stack);
    agent_process.shared =
        mmap(NULL, AGENT_SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    agent_process.owner = (const _Atomic uint32_t *)&owner;
    agent_process.alive = &alive;
    atomic_store(&agent_process.shared->control.standing, AGENT_SAMPLES);
    agent_process.slots = AGENT_SLOTS;
    agent_process.pid = getpid();
    agent_process.tick_ns = 4000000;
    signal(SIGPROF, ignore);
    double empty = 1e9;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t begin = agent_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < samples; i++)
            send(SI_QUEUE, NULL);
        const double us =
            (double)(agent_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1000 / samples;
        empty = us < empty ? us : empty;
    }
    signal(SIGPROF, SIG_DFL);
    struct agent_thread *thread = agent_thread_claim();
    if (!thread || !agent_handler_install())
        return 1;
    thread->tid = gettid();
    thread->timer = TIMER;
    thread->period_ns = atomic_load(&agent_process.shared->control.period_ns);
    thread->stack_low = (uintptr_t)stack - STACK_BYTES;
    thread->stack_end = (uintptr_t)stack + sizeof stack;
    printf("%-28s %6.2f us\n", "signal with an empty handler", empty);
    printf("%-28s %6.2f us\n", "registers only: none", us_each(thread, samples, 0));
    for (uint32_t kib = 4; kib <= 64; kib *= 2) {
        char name[32];
        snprintf(name, sizeof name, "%u KiB of stack", kib);
        printf("%-28s %6.2f us\n", name,
               us_each(thread, samples, kib == 64 ? AGENT_SLICE_MAX : kib << 10));
    }
    return 0;
}
