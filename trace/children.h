/* trace, inside: programs that the command executes, and processes that it forks. */
#ifndef SPROF_TRACE_CHILDREN_H
#define SPROF_TRACE_CHILDREN_H

#include "trace/program.h"

/* Makes the socket for agents. */
int trace_children_open(struct trace_session *session, struct sprof_error *error);

/* Its address, for PROBE_VARIABLE. */
const char *trace_children_address(const struct trace_session *session);

/* Adds descriptors that are readable when trace_children_serve has work. Returns 0 or SPROF_ENOMEM.
 */
int trace_children_polls(const struct trace_session *session, struct trace_polls *polls);

/* Puts probes into programs that wait for them, and closes programs without live processes. Returns
 * 0 or SPROF_ENOMEM. */
int trace_children_serve(struct trace_session *session);

/* Finds forked processes that have not called anything yet. Returns 0 or SPROF_ENOMEM. */
int trace_children_find(struct trace_session *session);

/* Takes the probes out of one process, which goes on untraced; its figures stay. *stopped_ns: the
 * length of the stop. Errors as of trace_detach; SPROF_ENOTFOUND also where the trace does not have
 * it. */
int trace_children_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                          struct sprof_error *error);

/* Whether all that the command has started has ended, and nothing more may connect. */
bool trace_children_are_over(struct trace_session *session);

/* Counts traced programs and processes, and programs that could not be traced. */
void trace_children_count(const struct trace_session *session, struct trace_result *result);

/* Stops accepting agents. Those that wait go on untraced. */
void trace_children_close(struct trace_session *session);

void trace_children_free(struct trace_session *session);

#endif
