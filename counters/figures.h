/* counters: figures of one function in one thread, sums and differences of them, and times. */
#ifndef SPROF_COUNTERS_FIGURES_H
#define SPROF_COUNTERS_FIGURES_H

#include "counters/pages.h"

struct counters_figures {
    struct probe_stat stat; /* its self time holds the time outside */
    struct probe_histogram histogram;
    int64_t outside; /* ticks in modules that are not traced */
};

/* Calls of one function in one thread, since the thread began. */
struct counters_sum {
    uint64_t calls, ended;
    int64_t self; /* ticks */
};

/* == figures.c == */

/* Copies the figures of a function from a slab, whose figures begin at `stats`. The call that ended
 * last is put into its bucket in the copy. Without `has_histograms` buckets are 0, and no page of
 * them is read. */
struct counters_figures counters_figures_read(const struct counters_pages *pages,
                                              const struct probe_stat *stats, uint32_t function,
                                              bool has_histograms);

/* The ticks that calls of the function have spent in modules that are not traced. */
int64_t counters_outside(const struct counters_pages *pages, const struct probe_stat *stats,
                         uint32_t function);

/* The ticks at which the bucket ends in which a part of all calls has ended; 0: there are none. */
double counters_quantile(const uint64_t buckets[PROBE_BUCKETS], double part);

/* Adds. Extremes are the larger ones. */
void counters_figures_add(struct counters_figures *sum, const struct counters_figures *figures);

/* Subtracts `base`. Extremes are not differences: they begin anew at a clear. */
void counters_figures_subtract(struct counters_figures *figures,
                               const struct counters_figures *base);

/* What no longer counts once all is cleared: open calls belong to the time after it. */
struct counters_figures counters_figures_cleared(const struct counters_figures *figures);

/* Sets counts and times beyond `most` to 0: the program has written them, and sums over rows would
 * overflow. */
void counters_figures_limit(struct counters_figures *figures, uint64_t most);
uint64_t counters_limit(uint64_t count, uint64_t most);
int64_t counters_limit_time(int64_t ticks, uint64_t most);

/* == paths.c == */

/* Reads a node's calls. The count of ended calls is read first, so it is never the larger one. */
struct counters_sum counters_node_read(const volatile struct probe_node *node);

/* Adds `sum` to `to`. */
void counters_sum_add(struct counters_sum *to, const struct counters_sum *sum);

/* Notes calls that are in no path. `seen` was read for the function before its paths were read, so
 * calls that are missing in these stay so. `alone` only grows. */
void counters_sum_alone(struct counters_sum *alone, const struct counters_sum *seen,
                        const struct counters_sum *in_paths);

/* Sets timed calls of a function to those in its paths and those in none. */
void counters_sum_replace(struct probe_stat *stat, const struct counters_sum *in_paths,
                          const struct counters_sum *alone);

/* == times.c == */

/* Calls that ended and began in no other call of the function. */
uint64_t counters_outermost(const struct probe_stat *stat);

/* Times in ticks with the cost of probes: what a clock outside would have measured. */
int64_t counters_raw_self(const struct probe_stat *stat, const struct probe_cost *cost);
int64_t counters_raw_total(const struct probe_stat *stat, const struct probe_cost *cost);

/* Nanoseconds of a time, at least 1 where it is not 0; of a sum over short calls, which may be
 * below zero; and of a single call, at least 1. */
uint64_t counters_nanoseconds(uint64_t ticks, double ns_per_tick);
uint64_t counters_time(int64_t ticks, double ns_per_tick);
uint64_t counters_single(uint64_t ticks, double ns_per_tick);

#endif
