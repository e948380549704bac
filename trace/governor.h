/* Keeps the cost of probes below options.max_overhead. It decides in looks; between them glances
 * check the sum of costs. */
#ifndef SPROF_TRACE_GOVERNOR_H
#define SPROF_TRACE_GOVERNOR_H

#include "base/base.h"

struct trace_session;

struct trace_governor {
    uint64_t next_ns, watched_ns; /* next look or glance; end of frequent looks */
    uint64_t look_ns;             /* next look; only glances until then */
    uint64_t glance_ns;
    uint64_t looked_at, glanced_at;
    double glanced_ns; /* since the look, at the last glance */
    uint64_t cpu_ns;   /* of the command, at the last look */
    double spent_ns;   /* at the last look, or when probes were new */
    double lately;     /* see trace_spent_lately */
    double recent_ns;  /* in the last second of CPU time */
    uint32_t calm;     /* cheap looks in a row */
};

struct trace_overhead {
    double probes_ns, looked_ns; /* estimated cost, and the CPU time that it is part of */
    struct sprof_urgency urgency;
};

/* Looks or glances if due, and lowers or raises what probes do. Returns 0 or SPROF_ENOMEM. */
int trace_govern(struct trace_session *session);

/* In CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t trace_govern_next_ns(const struct trace_session *session);

/* Raises the calling thread's priority, if permitted, while probes are new. Each millisecond before
 * a look can cost the program three quarters of it. */
void trace_govern_hurry(struct trace_session *common);

/* Makes looks frequent for a second. Call it after probes are added or do more. */
void trace_govern_anew(struct trace_session *session);

#endif
