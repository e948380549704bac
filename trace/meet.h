/* trace, inside: the agent of a program, and the memory that sprof shares with it. */
#ifndef SPROF_TRACE_MEET_H
#define SPROF_TRACE_MEET_H

#include "trace/tracing.h"

/* Waits for the agent's hello. SPROF_EUNSUPPORTED where the agent cannot work there, or where the
 * command ended before. */
int trace_meet(struct trace_session *session, struct sprof_error *error);

/* Whether the agent's hello is one that can be worked with. */
int trace_hello_check(const struct trace_session *session, struct sprof_error *error);

/* Has the agent map something. Returns its address, or minus an errno. `fd` goes along where it is
 * not -1. */
int64_t trace_ask(struct trace_session *session, enum probe_request_kind kind, uint64_t address,
                  uint64_t size, int fd);

/* Lets the command run that waits for its probes. SPROF_EUNSUPPORTED where it has ended. */
int trace_send_off(struct trace_session *session, struct sprof_error *error);

/* Makes the memory that the probes of the session write to, and has the agent map it. */
int trace_share_memory(struct trace_session *session, struct sprof_error *error);

#endif
