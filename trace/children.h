/* trace, inside: programs that the command executes, and processes that it forks. */
#ifndef SPROF_TRACE_CHILDREN_H
#define SPROF_TRACE_CHILDREN_H

#include "trace/program.h"

/* Makes the socket to which agents connect. */
int trace_children_open(struct trace_session *session, struct sprof_error *error);

/* Where it is, for PROBE_VARIABLE. */
const char *trace_children_address(const struct trace_session *session);

/* Adds what makes trace_children_serve worth a call. Returns 0 or SPROF_ENOMEM. */
int trace_children_polls(const struct trace_session *session, struct trace_polls *polls);

/* Puts probes into programs that wait for them, and closes those of which no process lives. Returns
 * 0 or SPROF_ENOMEM. */
int trace_children_serve(struct trace_session *session);

/* Finds processes of the programs that have been forked and have not called anything yet. Returns 0
 * or SPROF_ENOMEM. */
int trace_children_find(struct trace_session *session);

/* Takes the probes out of one process, which goes on untraced; its figures stay. *stopped_ns: how
 * long it stood still. Errors as of trace_detach; SPROF_ENOTFOUND also: it is none of the trace's.
 */
int trace_children_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                          struct sprof_error *error);

/* Whether nothing that the command has started is traced any more, or may still come to be. */
bool trace_children_are_over(struct trace_session *session);

/* How many programs and processes were traced, and programs could not be. */
void trace_children_count(const struct trace_session *session, struct trace_result *result);

/* Nobody comes any more: who has not been let go yet goes on untraced. */
void trace_children_close(struct trace_session *session);

void trace_children_free(struct trace_session *session);

#endif
