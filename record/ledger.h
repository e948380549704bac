/* The ledger of a run: per second, what was expected and what became of it (DESIGN §6). */
#ifndef SPROF_RECORD_LEDGER_H
#define SPROF_RECORD_LEDGER_H

#include "store/store.h"

/* What is known of a second beside its row. */
struct record_ledger_sums {
    double due;         /* samples that the CPU time would give, at the periods in force */
    uint64_t weight_ns; /* of the delivered samples */
    int64_t late_ns;    /* of that, what they weigh more because the timer fired late */
    double squares;     /* of the weights, in ns² */
};

struct record_ledger {
    SPROF_VEC(struct store_ledger) seconds;
    SPROF_VEC(struct record_ledger_sums) sums; /* [second] */
    uint32_t run_id, event_id;
    uint64_t period_ns; /* of a clock event, in force now, the mean where it varies; 0: nothing can
                           be expected */
    bool kernel_excluded;
    uint64_t last_time_ns; /* until when target CPU time is booked … */
    uint64_t last_cpu_ns;  /* … and how much in all */
    uint64_t skipped_cpu_ns;
    uint64_t begins_ns;               /* nothing before it counts: a delay, or what was cleared */
    uint64_t unsampled_ns;            /* CPU time booked on "[not sampled]" */
    struct sprof_map throttled_since; /* CPU → time, while sampling is paused there */
    size_t written;                   /* seconds already given to the database for good */
};

/* The second that a run time (nanoseconds since its start) falls into; NULL when out of memory. */
struct store_ledger *record_ledger_second(struct record_ledger *ledger, uint64_t time_ns);

/* Books a delivered sample; `late_ns` of its weight are there because the timer fired late. Returns
 * 0 or SPROF_ENOMEM. */
int record_ledger_deliver(struct record_ledger *ledger, uint64_t time_ns, uint64_t weight_ns,
                          int64_t late_ns);

/* Books lost samples, evenly on the time from `since_ns` to `time_ns`, as far as that counts.
 * Returns 0 or SPROF_ENOMEM. */
int record_ledger_lose(struct record_ledger *ledger, uint64_t since_ns, uint64_t time_ns,
                       uint64_t count);

/* Books the targets' CPU time since the last call, evenly on the seconds that have passed. */
int record_ledger_expect(struct record_ledger *ledger, uint64_t time_ns, uint64_t cpu_ns);

/* Books CPU time that only became known at the end, on all seconds in proportion to what they were
 * booked with before. */
void record_ledger_spread(struct record_ledger *ledger, uint64_t cpu_ns);

/* Passes over the targets' CPU time up to now: it was not to be sampled (--delay), or it was
 * cleared. What is lost before that counts no more. */
void record_ledger_skip(struct record_ledger *ledger, uint64_t time_ns, uint64_t cpu_ns);

/* Forgets what was booked on the seconds up to a run time. Returns 0 or SPROF_ENOMEM. */
int record_ledger_clear(struct record_ledger *ledger, uint64_t time_ns);

/* Books the samples that a pause of sampling on a CPU has cost, when it ends: as many as the period
 * of a clock event would have given. Losses of others are unknown. Returns 0 or SPROF_ENOMEM. */
int record_ledger_throttle(struct record_ledger *ledger, int cpu, bool on, uint64_t time_ns);

/* Works out `excluded`, `timer_overrun` and `unexplained` of every second from `from` on. A timer
 * that fired late gave one sample for several: those that a sample stands for beside its own are
 * overrun. Of what no sample stands for, all that is beyond three standard errors of the count was
 * either excluded (samples in the kernel, where it is not sampled) or lost by the timer, too; the
 * rest is chance. */
void record_ledger_close(struct record_ledger *ledger, size_t from);

/* What the samples would stand for that are known to be lost, or that the kernel held back. */
uint64_t record_ledger_lost_ns(const struct record_ledger *ledger);

/* Of the targets' CPU time `cpu_ns`, all in all, what the delivered samples do not stand for: what
 * was lost, or, where that differs from it by more than three standard errors of what they stand
 * for, all of it; 0 where nothing is expected. */
uint64_t record_ledger_missed_ns(const struct record_ledger *ledger, uint64_t cpu_ns);

/* Adds the rows that may have changed since the last call. */
int record_ledger_rows(struct record_ledger *ledger, struct store_batch *batch);

void record_ledger_release(struct record_ledger *ledger);

#endif
