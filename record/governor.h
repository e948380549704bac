/* Keeps what a recording costs within a share of what its targets use, by its rate and by how much
 * of each stack is copied. Decides only; it changes nothing by itself. */
#ifndef SPROF_RECORD_GOVERNOR_H
#define SPROF_RECORD_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What has been used and taken since the start. */
struct record_use {
    uint64_t own_ns;    /* sprof's CPU time */
    uint64_t target_ns; /* the targets' */
    uint64_t samples;
};

struct record_governor {
    double most;                    /* of the targets' CPU time; 0: nothing is governed */
    uint64_t asked_hz;              /* the rate never goes above it … */
    uint64_t lowest_hz, highest_hz; /* … and where it has been */
    struct record_use decided;      /* as of the last decision */
    double total_ns;                /* cost of the samples before it, to the targets */
};

/* Begins to keep within `most`, with that rate. */
void record_governor_begin(struct record_governor *governor, double most, uint64_t asked_hz);

/* What one sample costs the thread it interrupts, in nanoseconds: measured for perf events and for
 * the agent, by the bytes of stack copied. */
uint64_t record_governor_sample_ns(bool is_agent, size_t stack_bytes);

/* The rate from now on; `hz` where it is to stay: too little was used since the last decision, or
 * the cost is near what is wanted. `sample_ns` is the cost of the samples since then. To be asked
 * at most once a second. */
uint64_t record_governor_decide(struct record_governor *governor, const struct record_use *use,
                                uint64_t sample_ns, uint64_t hz);

/* The rate was changed by somebody else, who knows better. */
void record_governor_ask(struct record_governor *governor, uint64_t asked_hz);

/* The cost so far, as a fraction of what the targets used; 0 where they used nothing. */
double record_governor_share(const struct record_governor *governor, const struct record_use *use,
                             uint64_t sample_ns);

#endif
