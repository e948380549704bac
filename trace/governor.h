/* trace, inside: what probes may cost. */
#ifndef SPROF_TRACE_GOVERNOR_H
#define SPROF_TRACE_GOVERNOR_H

#include "trace/tracing.h"

/* Looks, where it is time, at what probes cost, and lowers or raises what they do. Returns 0 or
 * SPROF_ENOMEM. */
int trace_govern(struct trace_session *session);

/* When that is next, in CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t trace_govern_next_ns(const struct trace_session *session);

/* Each millisecond that passes before a look costs a program whose probes are new up to three
 * quarters of it: for that time the calling thread runs before others, where that is allowed. */
void trace_govern_hurry(struct trace_session *common);

/* Probes are new, or do more than before: they are watched closely for a second. */
void trace_govern_anew(struct trace_session *session);

/* What it does to probes goes on after a clear: the rows that say so are written again. Returns 0
 * or SPROF_ENOMEM. */
int trace_govern_tell_again(struct trace_session *session);

/* What is left of a tier. */
uint8_t trace_governed_tier(const struct trace_probe *probe, uint8_t tier);

/* Takes uprobes out of functions whose calls take more of the CPU time than max_overhead leaves
 * them, when it is time to look at that. Returns 0 or SPROF_ENOMEM. */
int trace_govern_uprobes(struct trace_session *session);

#endif
