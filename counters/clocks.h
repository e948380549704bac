/* counters: the processor's counter, by which agents measure, and the system's clock. */
#ifndef SPROF_COUNTERS_CLOCKS_H
#define SPROF_COUNTERS_CLOCKS_H

#include "base/base.h"

/* One moment in both clocks, and how they go on from there. */
struct counters_clock {
    uint64_t ticks, ns; /* ns: time in the run */
    double ns_per_tick;
};

/* Comparisons of the clocks, by time. Zeros are a valid empty value. */
struct counters_clocks {
    SPROF_VEC(struct counters_clock) list;
};

/* One moment in both clocks: a thread that has to wait between its two readings reads again. */
void counters_read_clocks(uint64_t *ns, uint64_t *ticks);

/* Adds a comparison of one moment, where the last one was a second ago. `first` is the beginning,
 * with the length of a tick as known now. Returns 0 or SPROF_ENOMEM. */
int counters_clocks_compare(struct counters_clocks *clocks, const struct counters_clock *first,
                            uint64_t now_ns, uint64_t ticks);

/* The time in the run of a moment, and the length of a time, in ticks, once clocks were compared;
 * at least 1. */
uint64_t counters_time_of(const struct counters_clocks *clocks, uint64_t ticks);
uint64_t counters_length_of(const struct counters_clocks *clocks, uint64_t ticks);

void counters_clocks_release(struct counters_clocks *clocks);

#endif
