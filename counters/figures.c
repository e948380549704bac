/* Reads figures of calls, adds them up, and subtracts them. */
#include "counters/figures.h"

#include <math.h>

int64_t counters_outside(const struct counters_pages *pages, const struct probe_stat *stats,
                         uint32_t function)
{
    const int64_t *words = (const int64_t *)(stats + pages->functions + 1);
    return pages->shared && pages->shared->first_outside ? words[function] : 0;
}

struct counters_figures counters_figures_read(const struct counters_pages *pages,
                                              const struct probe_stat *stats, uint32_t function,
                                              bool has_histograms)
{
    struct counters_figures figures = {.stat = stats[function]};
    const uint64_t first =
        probe_stats_bytes(pages->functions) + (function + UINT64_C(1)) * sizeof figures.histogram;
    const uint64_t pending = stats[pages->functions].pending;
    figures.outside = counters_outside(pages, stats, function);
    figures.stat.self = (int64_t)((uint64_t)figures.stat.self + (uint64_t)figures.outside);
    if (!has_histograms)
        return figures;
    figures.histogram = *(const struct probe_histogram *)((const uint8_t *)stats + first);
    if (pending >= first && pending - first < sizeof figures.histogram)
        figures.histogram.buckets[(pending - first) / sizeof *figures.histogram.buckets]++;
    return figures;
}

void counters_figures_add(struct counters_figures *sum, const struct counters_figures *figures)
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
    sum->outside = (int64_t)((uint64_t)sum->outside + (uint64_t)figures->outside);
    for (size_t i = 0; i < PROBE_BUCKETS; i++)
        sum->histogram.buckets[i] += figures->histogram.buckets[i];
}

void counters_figures_subtract(struct counters_figures *figures,
                               const struct counters_figures *base_figures)
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
    figures->outside = (int64_t)((uint64_t)figures->outside - (uint64_t)base_figures->outside);
    for (size_t i = 0; i < PROBE_BUCKETS; i++)
        figures->histogram.buckets[i] -= base_figures->histogram.buckets[i];
}

/* All open calls but one began in another. */
struct counters_figures counters_figures_cleared(const struct counters_figures *figures)
{
    struct counters_figures base = *figures;
    const struct probe_stat *stat = &figures->stat;
    const uint64_t open = stat->calls > stat->ended ? stat->calls - stat->ended : 0;
    base.stat.calls -= open;
    base.stat.recursive -= open ? open - 1 : 0;
    return base;
}

uint64_t counters_limit(uint64_t count, uint64_t most)
{
    return count <= most ? count : 0;
}

int64_t counters_limit_time(int64_t ticks, uint64_t most)
{
    return (ticks < 0 ? 0 - (uint64_t)ticks : (uint64_t)ticks) <= most ? ticks : 0;
}

void counters_figures_limit(struct counters_figures *figures, uint64_t most)
{
    struct probe_stat *stat = &figures->stat;
    stat->calls = counters_limit(stat->calls, most);
    stat->ended = counters_limit(stat->ended, most);
    stat->self = counters_limit_time(stat->self, most);
    stat->total = counters_limit_time(stat->total, most);
    stat->probe_ticks = counters_limit(stat->probe_ticks, most);
    stat->child_calls = counters_limit(stat->child_calls, most);
    stat->counted = counters_limit(stat->counted, most);
    stat->child_counted = counters_limit(stat->child_counted, most);
    stat->recursive = counters_limit(stat->recursive, most);
    stat->tails = counters_limit(stat->tails, most);
    stat->tail_cuts = counters_limit(stat->tail_cuts, most);
    stat->abnormal = counters_limit(stat->abnormal, most);
    stat->uncertain = counters_limit(stat->uncertain, most);
    stat->unlogged = counters_limit(stat->unlogged, most);
    figures->outside = counters_limit_time(figures->outside, most);
}

double counters_quantile(const uint64_t buckets[PROBE_BUCKETS], double part)
{
    uint64_t all = 0, sum = 0;
    size_t bucket = 0;
    for (size_t b = 0; b < PROBE_BUCKETS; b++)
        all += buckets[b];
    while (bucket + 1 < PROBE_BUCKETS && (double)(sum += buckets[bucket]) < part * (double)all)
        bucket++;
    return all ? exp2(PROBE_BUCKET_FIRST + 0.5 + (double)bucket / 2) : 0;
}
