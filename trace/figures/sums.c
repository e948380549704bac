/* Adds up figures of calls, and subtracts them. */
#include "trace/figures/figures.h"

void trace_figures_subtract(struct trace_figures *figures, const struct trace_figures *base_figures)
{
    struct probe_stat *stat = &figures->stat;
    const struct probe_stat *base = &base_figures->stat;
    stat->calls -= base->calls;
    stat->ended -= base->ended;
    stat->self = (int64_t)((uint64_t)stat->self - (uint64_t)base->self);
    stat->total = (int64_t)((uint64_t)stat->total - (uint64_t)base->total);
    stat->probe_ticks -= base->probe_ticks;
    stat->child_calls -= base->child_calls;
    stat->counted -= base->counted;
    stat->child_counted -= base->child_counted;
    stat->tails -= base->tails;
    stat->tail_cuts -= base->tail_cuts;
    stat->abnormal -= base->abnormal;
    stat->recursive -= base->recursive;
    stat->uncertain -= base->uncertain;
    stat->unlogged -= base->unlogged;
    for (size_t i = 0; i < PROBE_BUCKETS; i++)
        figures->histogram.buckets[i] -= base_figures->histogram.buckets[i];
}

uint64_t trace_limited(uint64_t count, uint64_t most)
{
    return count <= most ? count : 0;
}

int64_t trace_limited_time(int64_t ticks, uint64_t most)
{
    return (ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks) <= most ? ticks : 0;
}

void trace_figures_limit(struct trace_figures *figures, uint64_t most)
{
    struct probe_stat *stat = &figures->stat;
    stat->calls = trace_limited(stat->calls, most);
    stat->ended = trace_limited(stat->ended, most);
    stat->self = trace_limited_time(stat->self, most);
    stat->total = trace_limited_time(stat->total, most);
    stat->probe_ticks = trace_limited(stat->probe_ticks, most);
    stat->child_calls = trace_limited(stat->child_calls, most);
    stat->counted = trace_limited(stat->counted, most);
    stat->child_counted = trace_limited(stat->child_counted, most);
    stat->recursive = trace_limited(stat->recursive, most);
    stat->tails = trace_limited(stat->tails, most);
    stat->tail_cuts = trace_limited(stat->tail_cuts, most);
    stat->abnormal = trace_limited(stat->abnormal, most);
    stat->uncertain = trace_limited(stat->uncertain, most);
    stat->unlogged = trace_limited(stat->unlogged, most);
}

void trace_figures_add(struct trace_figures *sum, const struct trace_figures *figures)
{
    struct probe_stat *to = &sum->stat;
    const struct probe_stat *stat = &figures->stat;
    to->calls += stat->calls;
    to->ended += stat->ended;
    to->self = (int64_t)((uint64_t)to->self + (uint64_t)stat->self);
    to->total = (int64_t)((uint64_t)to->total + (uint64_t)stat->total);
    to->probe_ticks += stat->probe_ticks;
    to->max = stat->max > to->max ? stat->max : to->max;
    to->min_mask = stat->min_mask > to->min_mask ? stat->min_mask : to->min_mask;
    to->child_calls += stat->child_calls;
    to->counted += stat->counted;
    to->child_counted += stat->child_counted;
    to->recursive += stat->recursive;
    to->tails += stat->tails;
    to->tail_cuts += stat->tail_cuts;
    to->abnormal += stat->abnormal;
    to->uncertain += stat->uncertain;
    to->unlogged += stat->unlogged;
    for (size_t i = 0; i < PROBE_BUCKETS; i++)
        sum->histogram.buckets[i] += figures->histogram.buckets[i];
}
