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
    uint64_t stack_bytes; /* copied with them */
};

/* What may be chosen. */
struct record_choice {
    uint64_t hz;
    size_t slice; /* most bytes of a stack to copy with its sample; 0: samples carry none */
};

enum { RECORD_DEPTHS = 16 }; /* stacks are counted by powers of two */

struct record_governor {
    double most;                    /* of the targets' CPU time; 0: nothing is governed */
    bool is_agent;                  /* whose samples cost less */
    struct record_choice asked;     /* neither goes above it … */
    uint64_t lowest_hz, highest_hz; /* … and where they have been */
    size_t least_slice;
    struct record_use decided;        /* as of the last decision */
    double total_ns;                  /* cost of the samples before it, to the targets */
    double depths[RECORD_DEPTHS + 1]; /* [n]: stacks that used at most 2^n KiB, lately; last: more,
                                         or unknown */
};

/* Begins to keep within `most`, with that rate and slice. */
void record_governor_begin(struct record_governor *governor, double most, bool is_agent,
                           struct record_choice asked);

/* What a number of samples cost the threads they interrupt, in nanoseconds: measured for perf
 * events and for the agent, by the bytes of stack copied. */
double record_governor_samples_ns(bool is_agent, uint64_t samples, uint64_t stack_bytes);

/* A stack was walked that used so many bytes; 0: its root was not found. */
void record_governor_note_stack(struct record_governor *governor, uint64_t used_bytes);

/* What is right from now on; `now` where it is to stay: too little was used since the last
 * decision, or the cost is near what is wanted. One of the two changes at a time. Call it at
 * most once a second. */
struct record_choice record_governor_decide(struct record_governor *governor,
                                            const struct record_use *use, struct record_choice now);

/* A request from outside has changed rate and slice: it takes precedence. */
void record_governor_ask(struct record_governor *governor, struct record_choice asked);

/* The cost so far, as a fraction of what the targets used; 0 where they used nothing. */
double record_governor_share(const struct record_governor *governor, const struct record_use *use);

#endif
