/* trace, inside: the bound of what probes cost. */
#ifndef SPROF_TRACE_GOVERNOR_H
#define SPROF_TRACE_GOVERNOR_H

#include "base/base.h"

struct trace_session;

/* The looks at the cost of a program's probes. */
struct trace_governor {
    uint64_t next_ns, watched_ns;   /* the next look; until when looks are frequent */
    uint64_t look_ns;               /* until then there are only glances */
    uint64_t glance_ns;             /* between two glances */
    uint64_t looked_at, glanced_at; /* the last look and glance */
    double glanced_ns;              /* by probes from the look to that glance */
    uint64_t cpu_ns;                /* of the command, at the last look */
    double spent_ns;                /* by probes, at the last look or when they were new */
    double seen_ticks;              /* the same, while it is added up */
    double lately;                  /* how much faster probes took time since the last glance */
    double recent_ns;               /* by probes in the last second of CPU time */
    uint32_t calm;                  /* looks in a row at which little was spent */
};

/* What probes took, of all programs. */
struct trace_overhead {
    double probes_ns, looked_ns;  /* estimated for probes, of the CPU time that was looked at */
    struct sprof_urgency urgency; /* while probes are new */
};

/* Looks at the cost of probes when it is time, and lowers or raises what they do. Returns 0 or
 * SPROF_ENOMEM. */
int trace_govern(struct trace_session *session);

/* Time of the next look, in CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t trace_govern_next_ns(const struct trace_session *session);

/* Each millisecond before a look costs a program with new probes up to three quarters of it. So
 * while probes are new the calling thread runs before others, where that is allowed. */
void trace_govern_hurry(struct trace_session *common);

/* Probes are new, or do more than before: looks are frequent for a second. */
void trace_govern_anew(struct trace_session *session);

#endif
