/* What a tick of a clock event on a whole CPU weighs. The BPF program calls this for each tick that
 * comes to it; unit tests call it, too. */
#ifndef SPROF_SAMPLER_BPF_TICK_WEIGHT_H
#define SPROF_SAMPLER_BPF_TICK_WEIGHT_H

#include "sampler/bpf/sampling.h"

#include <stdbool.h>

enum {
    SAMPLING_GAP_NS_MAX = 1000000000, /* between ticks; beyond it the CPU was away */
    SAMPLING_LATELY_NS = 2000000000,
    SAMPLING_SETTLED = 8, /* periods without sleep; then a thread's CPU time is followed */
};

/* A tick, in nanoseconds of CLOCK_MONOTONIC. */
struct sampling_due {
    __u64 due_ns; /* when the timer was to fire */
    __u64 now_ns;
    __u64 period_ns; /* in force now */
    bool same;       /* the thread it met was met by the tick before, and was not switched since */
};

/* The thread that a tick met, in the scheduler's data. */
struct sampling_met {
    __u64 thread;     /* its struct and its time of birth: new ones get the structs of old ones, and
                         one that executes a program takes over its leader's birth and number */
    __u64 switches;   /* how often it left a CPU */
    __u64 sleeps;     /* of these, because it wanted to */
    __u64 used_ns;    /* CPU time it has been charged with, up to … */
    __u64 charged_ns; /* … then, by the scheduler's clock */
};

/* From the change of the period on, the timer fires on a new grid. Of the old one, the part of a
 * period between its last point and the change belongs to the first point of the new one; where
 * that is not this tick, to no thread that was seen. */
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

/* How much of a late tick is CPU time of the thread that it met: what the host took is not, where
 * the scheduler notices that, and it shows in the next charge only. The late ticks before this one
 * give the average. */
static inline __u64 sampling_counted(struct sampling_clock *clock, __u64 late_ns)
{
    __u64 counted_ns = late_ns;
    if (clock->late_ns)
        counted_ns = clock->stopped_ns < clock->late_ns
                         ? late_ns * (clock->late_ns - clock->stopped_ns) / clock->late_ns
                         : 0;
    clock->late_ns += late_ns;
    if (clock->late_ns > SAMPLING_LATELY_NS) {
        clock->late_ns /= 2;
        clock->stopped_ns /= 2;
    }
    return counted_ns;
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
    return weight_ns + sampling_counted(clock, late_ns);
}

/* Notes the thread that a tick met; returns whether it has had the CPU since the tick before.
 *
 * The scheduler charges a thread a few hundred times a second, and whenever it leaves the CPU, by a
 * clock of its own, which may stand still while the host has the CPU. No charge lies in the future,
 * and one that was not there at the tick before was made since: so much is known of the two clocks,
 * and little after a time without ticks. */
static inline bool sampling_meet(struct sampling_clock *clock, const struct sampling_met *met,
                                 const struct sampling_due *tick)
{
    const bool met_before = clock->thread == met->thread;
    const bool same = met_before && clock->switches == met->switches;
    const __s64 least_ns = (__s64)(met->charged_ns - tick->now_ns);
    const __s64 most_ns = (__s64)(met->charged_ns - clock->met_ns);
    const bool charged = !met_before || clock->charged_ns != met->charged_ns;
    if (!clock->met_ns || clock->offset_ns < least_ns)
        clock->offset_ns = least_ns;
    else if (charged && clock->offset_ns > most_ns) {
        if (tick->now_ns - clock->met_ns < SAMPLING_GAP_NS_MAX)
            clock->stopped_ns += (__u64)(clock->offset_ns - most_ns);
        clock->offset_ns = most_ns;
    }
    if (tick->now_ns - clock->met_ns > 3 * tick->period_ns)
        clock->is_unsure = true;
    else if (charged)
        clock->is_unsure = false;
    clock->thread = met->thread;
    clock->switches = met->switches;
    clock->met_ns = tick->now_ns;
    clock->charged_ns = met->charged_ns;
    return same;
}

/* The weight of a tick that met a thread of the target: `weight_ns`, which is right on average,
 * whatever the thread does; or where it has not slept for some periods, the CPU time it has used
 * since the last tick that met it, whatever was on the CPU meanwhile. (Were that done from the
 * first tick on, what a thread used before it would be missing; where it slept, its ticks come at
 * random times of what it does, and weights that vary are worse estimates of where the time went.)
 * After a time without ticks, a later one corrects how much of it the thread and not the host had.
 */
static inline __u64 sampling_weigh_thread(struct sampling_thread *known,
                                          const struct sampling_clock *clock,
                                          const struct sampling_met *met,
                                          const struct sampling_due *tick, __u64 weight_ns)
{
    const __u64 running_ns = tick->now_ns + (__u64)clock->offset_ns - met->charged_ns;
    const __u64 used_ns = met->used_ns + running_ns;
    __u64 since_ns = used_ns > known->weighed_ns ? used_ns - known->weighed_ns : 0;
    if (known->thread != met->thread || known->sleeps != met->sleeps ||
        known->pauses != clock->pauses) {
        known->thread = met->thread;
        known->sleeps = met->sleeps;
        known->pauses = clock->pauses;
        known->begun_ns = known->weighed_ns = used_ns;
        return weight_ns;
    }
    if (used_ns - known->begun_ns < SAMPLING_SETTLED * tick->period_ns) {
        known->weighed_ns = used_ns;
        return weight_ns;
    }
    if (clock->is_unsure && since_ns > weight_ns)
        since_ns = weight_ns;
    known->weighed_ns += since_ns;
    return since_ns;
}

#endif
