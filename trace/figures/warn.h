/* Warnings of slow or deep calls. */
#ifndef SPROF_TRACE_FIGURES_WARN_H
#define SPROF_TRACE_FIGURES_WARN_H

#include "trace/tracing.h"

int trace_warnings_check(const struct trace_options *options, struct sprof_error *error);

bool trace_warns(const struct trace_options *options);

/* Writes limits of probes from `first` on for the agent. */
int trace_warnings_begin(struct trace_session *session, size_t first, struct sprof_error *error);

/* Writes new warnings. Searches for unreturned calls now and then. Returns 0 or SPROF_ENOMEM. */
int trace_warnings_collect(struct trace_session *session);

/* Writes only agents' warnings, before another thread gets their slab. Returns 0 or
 * SPROF_ENOMEM. */
int trace_warnings_read(struct trace_session *session);

void trace_warnings_free(struct trace_session *session);

#endif
