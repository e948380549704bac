/* How the tracing agent keeps calls that rules choose (`--keep`): the rules, and what threads write
 * into their rings about the calls that they keep. */
#ifndef SPROF_AGENT_PROBE_KEEP_H
#define SPROF_AGENT_PROBE_KEEP_H

#include "agent/probe_ring.h"

enum { PROBE_KEEP_RULES = 64, PROBE_KEEP_SLOWEST = 16 };

/* A call meets a rule that meets all of its conditions. The tracer writes the first part before
 * "go", the agent the second. */
struct probe_keep_rule {
    int64_t over, self; /* ticks, at least; INT64_MIN: any */
    uint64_t every;     /* of the calls that meet all before, each so-many-th; 0: all */
    uint64_t first;     /* of the calls that meet all before, so many in a second; 0: all */
    uint32_t throws;    /* it was left by an exception */
    uint32_t slowest;   /* it is among so many longest ones of its function so far; 0: all */

    _Atomic uint64_t seen;    /* calls that were counted for `every` */
    _Atomic uint64_t lately;  /* for `first`: the second << 32 | how many of it */
    _Atomic uint64_t dropped; /* calls that met it and found no room in their ring */
};

/* The ticks of the longest calls of a function so far, in no order; 0: none yet. Calls are noted
 * where a rule for the function needs them, so many as the rule with the most does. */
struct probe_slowest {
    _Atomic int64_t ticks[PROBE_KEEP_SLOWEST];
};

struct probe_keep {
    uint64_t second_ticks; /* the tracer's: length of a second */
    _Atomic uint64_t lost; /* the agent's: ends of callers without room */
    struct probe_keep_rule rules[PROBE_KEEP_RULES];
};

/* A kept call that has ended (PROBE_LOG_END); or one that is open, as the caller of a kept one
 * (PROBE_LOG_BEGIN), whose end follows. Each takes two units of a ring. */
struct probe_kept {
    uint64_t header;     /* its depth is 0 */
    uint64_t begin, end; /* ticks; end 0: it is open */
    int64_t total, self; /* as in the figures */
    uint32_t number;     /* of the call in its thread, from 1 */
    uint32_t caller;     /* the same of its caller; 0: none, or not known */
    uint64_t rules;      /* that it met, a bit each; 0: it is the caller of a kept call */
    uint32_t is_apart;   /* its coroutine was suspended meanwhile, and its caller is not known */
    uint32_t reserved;
};
enum { PROBE_KEPT_UNITS = 2 };
_Static_assert(sizeof(struct probe_kept) == PROBE_KEPT_UNITS * PROBE_UNIT_BYTES, "units");

#endif
