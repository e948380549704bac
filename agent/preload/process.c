/* The sampling agent's state in a process, and clocks. */
#include "agent/preload/preload.h"

#include <sys/syscall.h>
#include <unistd.h>

struct agent_process agent_process;
struct agent_thread agent_threads[AGENT_SLOTS];

bool agent_active(void)
{
    const struct agent_process *process = &agent_process;
    return process->shared && atomic_load_explicit(process->alive, memory_order_relaxed) &&
           (atomic_load_explicit(process->owner, memory_order_relaxed) & AGENT_OWNER_MASK) &&
           atomic_load_explicit(&process->shared->control.standing, memory_order_relaxed) ==
               AGENT_SAMPLES;
}

uint64_t agent_clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t agent_time_ns(void)
{
    return agent_clock_ns(CLOCK_MONOTONIC) - (uint64_t)agent_process.clock_offset_ns;
}

void agent_unblock(void)
{
    const uint64_t only = UINT64_C(1) << (SIGPROF - 1);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof only);
}
