/* trace, inside: warnings of calls that take too long or too much of the stack. */
#ifndef SPROF_TRACE_FIGURES_WARN_H
#define SPROF_TRACE_FIGURES_WARN_H

#include "trace/tracing.h"

/* Checks the limits of options, before anything runs. */
int trace_warnings_check(const struct trace_options *options, struct sprof_error *error);

/* Whether any warning is wanted. */
bool trace_warns(const struct trace_options *options);

/* Notes, and writes for the agent, the limits of the probes from `first` on. */
int trace_warnings_begin(struct trace_session *session, size_t first, struct sprof_error *error);

/* Writes rows and lines of new warnings; calls that have not returned are searched for only when it
 * is time. Returns 0 or SPROF_ENOMEM. */
int trace_warnings_collect(struct trace_session *session);

/* Writes those of agents alone, before a slab that they name is another thread's. Returns as the
 * former. */
int trace_warnings_read(struct trace_session *session);

void trace_warnings_free(struct trace_session *session);

#endif
