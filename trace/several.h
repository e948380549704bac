/* trace, inside: several running processes in one trace. */
#ifndef SPROF_TRACE_SEVERAL_H
#define SPROF_TRACE_SEVERAL_H

#include "trace/tracing.h"

/* Whether this session is the common one of several processes. */
static inline bool trace_is_of_several(const struct trace_session *session)
{
    return session->common == session && session->options.other_count;
}

/* Whether other processes were named beside the session's. Names in options may be those of the
 * others. */
static inline bool trace_has_others(const struct trace_session *session)
{
    return session->common->options.other_count;
}

/* Takes the probes out of one process, or of all (0); the others are traced on. *stopped_ns: the
 * longest stop. Errors as of trace_detach; SPROF_ENOTFOUND also where the trace does not have it.
 */
int trace_several_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                         struct sprof_error *error);

#endif
