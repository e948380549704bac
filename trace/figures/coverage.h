/* trace, inside: which functions have been called, in mode coverage. */
#ifndef SPROF_TRACE_FIGURES_COVERAGE_H
#define SPROF_TRACE_FIGURES_COVERAGE_H

#include "trace/tracing.h"

/* Rows of the functions that are looked for from now on. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_begin(struct trace_session *session);

/* Notes which functions have been called since the last time. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_collect(struct trace_session *session);

/* Has probes that have left see calls again, in all processes of all programs. SPROF_ESTATE where
 * that is not possible now; else as trace_stop_while. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error);

/* What was called so far counts as not called. Errors as of trace_coverage_return. */
int trace_coverage_clear(struct trace_session *session, struct sprof_error *error);

/* Takes back the probes that have seen a call, where it is time for that: their functions cost
 * nothing from then on. What hinders it hinders nothing else. */
void trace_coverage_remove(struct trace_session *session);

/* How many functions have been called, and of how many the probe has left. */
void trace_coverage_count(const struct trace_session *session, size_t *covered, size_t *left);

#endif
