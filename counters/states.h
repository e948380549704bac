/* counters: how long a thread has waited and been ready, up to any moment that is queried later:
 * its gaps, in which it had no CPU. */
#ifndef SPROF_COUNTERS_STATES_H
#define SPROF_COUNTERS_STATES_H

#include "base/base.h"

/* A gap, or several with time on a CPU between them. */
struct counters_gap {
    uint64_t begun_ns, ended_ns;
    uint64_t waiting_ns, ready_ns; /* up to its end */
};

/* Of one thread. Zeros are a valid empty value. */
struct counters_states {
    SPROF_VEC(struct counters_gap) gaps;     /* in the order of time */
    uint64_t seen_waiting_ns, seen_ready_ns; /* what the last one added had */
    size_t compact_at;                       /* so many are joined again, as far as they are old */
};

/* Adds a gap that is later than all others; its sums go on from those of the one before, or begin
 * anew. Where gaps are missing, it is joined with the time since the last one. Returns 0 or
 * SPROF_ENOMEM. */
int counters_states_add(struct counters_states *states, const struct counters_gap *gap);

/* How long the thread has waited and been ready between two moments at which it ran. These come
 * from another clock: one that lies within a gap is moved to the nearer end of it, so both times
 * are exact for gaps longer than twice the difference of the clocks. Gaps that are over a second
 * old are joined as far as that makes an error of at most a thousandth of the time since then. */
void counters_states_between(const struct counters_states *states, uint64_t from_ns, uint64_t to_ns,
                             uint64_t *waiting_ns, uint64_t *ready_ns);

/* Limits both to the duration of a call: what is more was in probes. */
void counters_states_limit(uint64_t duration_ns, uint64_t *waiting_ns, uint64_t *ready_ns);

/* Whether the sums between two moments are known, where gaps were lost up to `lost_ns` (0: none
 * were): the first moment is later, or a gap that ended later has the sums of those before it. A
 * gap that is joined with the time of lost ones may hold neither moment. */
bool counters_states_are_known(const struct counters_states *states, uint64_t from_ns,
                               uint64_t to_ns, uint64_t lost_ns);

void counters_states_release(struct counters_states *states);

#endif
