/* Traces several running processes at once. */
#ifndef SPROF_TRACE_SEVERAL_H
#define SPROF_TRACE_SEVERAL_H

#include "trace/tracing.h"

/* Whether this is their common session. */
static inline bool trace_is_of_several(const struct trace_session *session)
{
    return session->common == session && session->options.other_count;
}

/* Removes the probes from one process, or from all (pid 0). *stopped_ns: the longest stop. Errors
 * as of trace_detach; SPROF_ENOTFOUND: not in this trace. */
int trace_several_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                         struct sprof_error *error);

#endif
