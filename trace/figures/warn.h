/* trace, inside: warnings of calls that take too long or too much of the stack. */
#ifndef SPROF_TRACE_FIGURES_WARN_H
#define SPROF_TRACE_FIGURES_WARN_H

#include "trace/tracing.h"

/* Checks what is to be warned of, before anything runs. */
int trace_warnings_check(const struct trace_options *options, struct sprof_error *error);

/* Whether anything is. */
bool trace_warns(const struct trace_options *options);

/* Says to the agent, and notes, what the probes from `first` on may take. */
int trace_warnings_begin(struct trace_session *session, size_t first, struct sprof_error *error);

/* Rows and lines of what has been noted since the last time; of calls that have not returned only
 * where it is time for that. Returns 0 or SPROF_ENOMEM. */
int trace_warnings_collect(struct trace_session *session);

/* Of those, what agents have noted, alone: before a slab that they name is another thread's.
 * Returns as the former. */
int trace_warnings_read(struct trace_session *session);

void trace_warnings_free(struct trace_session *session);

#endif
