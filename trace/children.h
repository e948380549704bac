/* Programs that the command executes, and processes that it forks. */
#ifndef SPROF_TRACE_CHILDREN_H
#define SPROF_TRACE_CHILDREN_H

#include "trace/program.h"

/* Address of the socket, for PROBE_VARIABLE. */
const char *trace_children_address(const struct trace_session *session);

/* Removes the probes from one process, which goes on; its figures stay. *stopped_ns: length of the
 * stop. Errors as of trace_detach; SPROF_ENOTFOUND: not in this trace. */
int trace_children_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                          struct sprof_error *error);

#endif
