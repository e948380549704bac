/* trace, inside: mode coverage. */
#ifndef SPROF_TRACE_FIGURES_COVERAGE_H
#define SPROF_TRACE_FIGURES_COVERAGE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_session;

/* The removal of a program's probes that have seen a call. */
struct trace_coverage {
    uint64_t next_removal_ns;
    bool keeps_probes; /* they stay: the process cannot be stopped */
};

/* Writes rows of the functions to be covered from now on. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_begin(struct trace_session *session);

/* Notes functions that were called since the last time. Returns 0 or SPROF_ENOMEM. */
int trace_coverage_collect(struct trace_session *session);

/* Drops the coverage so far, once probes are back. */
void trace_coverage_clear(struct trace_session *session);

/* Notes calls and new functions, and removes probes that have seen a call, when it is time. Returns
 * 0 or SPROF_ENOMEM: a failure to remove hinders nothing else. */
int trace_coverage_serve(struct trace_session *session);

/* Counts called functions, and those whose probe has left. */
void trace_coverage_count(const struct trace_session *session, size_t *covered, size_t *left);

/* == coverage_return.c == */

/* Has probes that have left see calls again, in all processes of all programs. SPROF_ESTATE where
 * that is not possible now; else as inject_stop_while. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error);

#endif
