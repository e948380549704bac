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

/* Makes a program of each process, and locks it. Where one cannot be traced none has been changed,
 * and the error says which. */
int trace_several_open(struct trace_session *session, struct sprof_error *error);

/* Puts probes into all of them, and has them measure from one moment on. A process without any of
 * the chosen functions, or that has ended, is left out with a warning. Where none is left, or
 * another one cannot be entered, it fails, and trace_leave_process is to be called for each. */
int trace_several_set_up(struct trace_session *session, struct sprof_error *error);

/* Closes programs whose process has ended. Returns 0 or SPROF_ENOMEM. */
int trace_several_serve(struct trace_session *session);

/* Takes the probes out of one process, or of all (0); the others are traced on. *stopped_ns: the
 * longest stop. Errors as of trace_detach; SPROF_ENOTFOUND also where the trace does not have it.
 */
int trace_several_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                         struct sprof_error *error);

/* Adds the results of all. */
void trace_several_count(const struct trace_session *session, struct trace_result *result);

#endif
