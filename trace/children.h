/* trace, inside: programs that the command executes, and processes that it forks. */
#ifndef SPROF_TRACE_CHILDREN_H
#define SPROF_TRACE_CHILDREN_H

#include "trace/program.h"

/* Its address, for PROBE_VARIABLE. */
const char *trace_children_address(const struct trace_session *session);

/* Takes the probes out of one process, which goes on untraced; its figures stay. *stopped_ns: the
 * length of the stop. Errors as of trace_detach; SPROF_ENOTFOUND also where the trace does not have
 * it. */
int trace_children_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                          struct sprof_error *error);

#endif
