/* Periods of a clock event that change while it runs, and the weights that follow from them.
 *
 * The timer of a clock event on a whole CPU fires every period, whatever runs; a sample stands for
 * the time since the timer fired before. PERF_EVENT_IOC_PERIOD takes effect at once and starts the
 * period anew, but the kernel goes on writing the old period into the samples
 * (kernel/events/core.c: perf_swevent_start_hrtimer, swevent_hrtimer, last_period): the weight must
 * be worked out here, from the times of changes and samples. */
#ifndef SPROF_SAMPLER_PERF_CLOCK_PERIOD_H
#define SPROF_SAMPLER_PERF_CLOCK_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERF_CLOCK_CHANGES_MAX = 32 };

/* One event's clock. Times are CLOCK_MONOTONIC nanoseconds. */
struct perf_clock {
    uint64_t period_ns; /* in force at anchor_ns */
    uint64_t anchor_ns; /* from here the timer counts: a change, or a time at which it fired */
    uint64_t fired_ns;  /* when it fired last, as far as is known, before or at anchor_ns */
    bool at_change;     /* anchor_ns is a change: what ran since fired_ns has not been weighed */
    /* Changes that no sample read so far lies behind, the oldest first, from `first` on. */
    struct perf_clock_change {
        uint64_t before_ns, after_ns; /* the call */
        uint64_t period_ns;           /* from then on; 0: paused */
    } changes[PERF_CLOCK_CHANGES_MAX];
    size_t first, count;
    uint64_t newest_period_ns; /* asked for last */
    uint64_t mirrored;         /* the period that the next one mirrors; 0: the next is a new one */
    bool delivered;            /* a sample was read since the last change */
    uint64_t weighed;          /* the caller's: position among the weights that the kernel keeps */
};

/* The event is enabled now, with that period. *clock is initialized, zero at the least. */
void perf_clock_start(struct perf_clock *clock, uint64_t now_ns, uint64_t period_ns);

/* Whether one more change can be kept; where not, samples must be read first. */
bool perf_clock_has_room(const struct perf_clock *clock);

/* A call between these times changed the period; 0 pauses the event, and what it had not fired for
 * is in no weight. */
void perf_clock_change(struct perf_clock *clock, uint64_t before_ns, uint64_t after_ns,
                       uint64_t period_ns);

/* All samples from before `time_ns` have been weighed: changes up to there need not be kept. */
void perf_clock_settle(struct perf_clock *clock, uint64_t time_ns);

/* The weight in nanoseconds of a sample. To be called for the samples of an event in their order.
 */
uint64_t perf_clock_weigh(struct perf_clock *clock, uint64_t time_ns);

/* The next period of an event, at random within ±30 % of `mean_ns`: its density grows with its
 * length, so that the mean rate is that of `mean_ns`. Every second one mirrors the one before it,
 * long for short, which keeps the number of samples in a second near the mean. *state is any number
 * but 0. */
uint64_t perf_clock_jitter(struct perf_clock *clock, uint64_t mean_ns, uint64_t *state);

#endif
