/* trace, inside: the bound of what probes cost. */
#ifndef SPROF_TRACE_GOVERNOR_H
#define SPROF_TRACE_GOVERNOR_H

#include "trace/tracing.h"

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

/* After a clear: writes the rows again that say what the governor does to probes. Returns 0 or
 * SPROF_ENOMEM. */
int trace_govern_tell_again(struct trace_session *session);

/* Takes uprobes out of functions that cost more of the CPU time than max_overhead leaves them, when
 * it is time. Returns 0 or SPROF_ENOMEM. */
int trace_govern_uprobes(struct trace_session *session);

#endif
