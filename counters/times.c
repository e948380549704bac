/* Times of calls from figures: with the cost of probes, and in nanoseconds. */
#include "counters/figures.h"

#include <math.h>

/* Of the open calls of a thread, all but one began in another. */
uint64_t counters_outermost(const struct probe_stat *stat)
{
    const uint64_t open = stat->calls > stat->ended ? stat->calls - stat->ended : 0;
    const uint64_t open_within = open ? open - 1 : 0;
    const uint64_t within = stat->recursive > open_within ? stat->recursive - open_within : 0;
    return stat->ended > within ? stat->ended - within : 0;
}

/* Of the function the cost between its readings, of its callees that outside theirs. */
int64_t counters_raw_self(const struct probe_stat *stat, const struct probe_cost *cost)
{
    return (int64_t)((uint64_t)stat->self + stat->ended * cost->inside +
                     stat->child_calls * (cost->whole - cost->inside) +
                     stat->child_counted * cost->count);
}

int64_t counters_raw_total(const struct probe_stat *stat, const struct probe_cost *cost)
{
    return (int64_t)((uint64_t)stat->total + stat->probe_ticks +
                     counters_outermost(stat) * cost->inside);
}

/* The counter may be finer than a nanosecond, and the program can write any number. */
uint64_t counters_nanoseconds(uint64_t ticks, double ns_per_tick)
{
    const double ns = (double)ticks * ns_per_tick;
    if (ticks && ns < 1)
        return 1;
    return ns < 9e18 ? (uint64_t)llround(ns) : (uint64_t)9e18;
}

uint64_t counters_time(int64_t ticks, double ns_per_tick)
{
    return ticks > 0 ? counters_nanoseconds((uint64_t)ticks, ns_per_tick) : 0;
}

uint64_t counters_single(uint64_t ticks, double ns_per_tick)
{
    return counters_nanoseconds(ticks ? ticks : 1, ns_per_tick);
}
