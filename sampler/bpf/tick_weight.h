/* What a tick of a clock event on a whole CPU weighs. The BPF program asks for each tick that comes
 * to it; unit tests ask, too. */
#ifndef SPROF_SAMPLER_BPF_TICK_WEIGHT_H
#define SPROF_SAMPLER_BPF_TICK_WEIGHT_H

#include "sampler/bpf/sampling.h"

#include <stdbool.h>

enum { SAMPLING_GAP_NS_MAX = 1000000000 }; /* between ticks; beyond it the CPU was away */

/* A tick, in nanoseconds of CLOCK_MONOTONIC. */
struct sampling_due {
    __u64 due_ns; /* when the timer was to fire */
    __u64 now_ns;
    __u64 period_ns; /* in force now */
    bool same;       /* the thread it met was met by the tick before, and was not switched since */
};

/* From the change of the period on, the timer fires on a new grid. Of the old one, the part of a
 * period between its last point and the change belongs to the first point of the new one; where
 * that is not this tick, to nobody who was seen. */
static inline __u64 sampling_rest_of_old_grid(const struct sampling_clock *clock,
                                              const struct sampling_due *tick)
{
    const __u64 first_ns = tick->due_ns - tick->period_ns; /* where this tick is the first */
    const __u64 change_ns = clock->change_ns;
    if (!clock->period_ns || tick->period_ns == clock->period_ns || change_ns > first_ns ||
        first_ns - change_ns >= tick->period_ns || first_ns < clock->grid_ns)
        return 0;
    return (first_ns - clock->grid_ns) % clock->period_ns;
}

/* The weight of a tick, in nanoseconds; notes that it came. The timer of a clock event fires on a
 * grid of its period, and each point of the grid stands for the period before it. Ticks do not all
 * come here: those of the idle task are left out, and others may be (a program that runs keeps
 * another one from running). So a gap between two ticks is this thread's only where it had the CPU
 * all the time. Where the machine let the timer fire late, the kernel delivers one tick for all
 * points of the grid that have passed (perf_swevent_hrtimer, hrtimer_forward_now): the thread it
 * meets is the one that had the CPU then, for an idle CPU meets its idle task first. */
static inline __u64 sampling_weigh_tick(struct sampling_clock *clock,
                                        const struct sampling_due *tick)
{
    const __u64 period_ns = tick->period_ns;
    const __u64 since_ns = tick->due_ns - clock->grid_ns;
    __u64 late_ns = 0, weight_ns = period_ns;
    if (tick->now_ns > tick->due_ns && tick->now_ns - tick->due_ns < SAMPLING_GAP_NS_MAX)
        late_ns = (tick->now_ns - tick->due_ns) / period_ns * period_ns;
    if (clock->grid_ns && tick->same && since_ns < SAMPLING_GAP_NS_MAX)
        weight_ns = since_ns;
    else if (clock->grid_ns)
        weight_ns += sampling_rest_of_old_grid(clock, tick);
    clock->grid_ns = tick->due_ns + late_ns;
    clock->period_ns = period_ns;
    return weight_ns + late_ns;
}

#endif
