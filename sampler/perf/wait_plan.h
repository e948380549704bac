/* How to wait for the records of rings: on the rings themselves for the first sign of work, and
 * while there is work in pauses that let it gather. A wake-up for each record would cost more than
 * reading it. */
#ifndef SPROF_SAMPLER_PERF_WAIT_PLAN_H
#define SPROF_SAMPLER_PERF_WAIT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* A record is written some microseconds after its time was taken; what depends on another
     * record is written after it in any case, so this only keeps independent ones in order. */
    PERF_SLACK_NS = 500000,
    PERF_BATCH_DEEP_NS = 1000000, /* tails of deep stacks are read from live memory: be quick */
    PERF_LISTEN_HZ_MAX = 2000,    /* … and up to this rate, at once */
};

struct perf_wait_state {
    bool active;           /* the last look found something new */
    bool rings_unpollable; /* a ring says that it is ready all the time */
    bool has_record;       /* a record of first_ns waits until it is surely in order */
    uint64_t first_ns;
    uint64_t batch_interval_ns; /* how long records may gather */
    uint64_t deep_until_ns;     /* until then stacks deeper than their slices are expected */
    uint64_t samples_per_second;
};

struct perf_wait_plan {
    bool polls_rings;
    uint64_t deadline_ns; /* UINT64_MAX: none */
};

struct perf_wait_plan perf_wait_plan(const struct perf_wait_state *state, uint64_t now_ns);

#endif
