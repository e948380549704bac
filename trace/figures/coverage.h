/* Mode coverage. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_TRACE_FIGURES_COVERAGE_H
#define SPROF_TRACE_FIGURES_COVERAGE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_session;

struct trace_result;

struct trace_coverage {
    uint64_t next_removal_ns;
    bool keeps_probes; /* the process cannot be stopped */
};

/* Adds rows of functions that can be covered. */
int trace_coverage_begin(struct trace_session *session);

int trace_coverage_collect(struct trace_session *session);

/* Drops results. Probes must be placed again first. */
void trace_coverage_clear(struct trace_session *session);

/* Records calls and new functions. Now and then it removes probes of called functions, which may
 * fail. */
int trace_coverage_serve(struct trace_session *session);

/* *left: functions whose probe was removed. */
void trace_coverage_count(const struct trace_session *session, size_t *covered, size_t *left);

/* Reads from the finished recording how many functions it lists, and how many of them were called,
 * as reports do. Two entries of one function are one there. */
int trace_coverage_listed(struct trace_session *session, struct trace_result *result,
                          struct sprof_error *error);

/* == coverage_return.c == */

/* Places removed probes again in all processes. SPROF_ESTATE: impossible now; else as
 * inject_stop_while. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error);

#endif
