/* trace, inside: the agent of a program, and the memory that sprof shares with it. */
#ifndef SPROF_TRACE_MEET_H
#define SPROF_TRACE_MEET_H

#include "trace/tracing.h"

/* Waits for the agent's hello. SPROF_EUNSUPPORTED where the agent cannot work there, or the command
 * has ended. */
int trace_meet(struct trace_session *session, struct sprof_error *error);

/* Sends a request to the agent, with `fd` where it is not -1. Returns the address, or minus an
 * errno. */
int64_t trace_ask(struct trace_session *session, enum probe_request_kind kind, uint64_t address,
                  uint64_t size, int fd);

/* Lets the waiting command go on. SPROF_EUNSUPPORTED where it has ended. */
int trace_send_off(struct trace_session *session, struct sprof_error *error);

/* Makes the shared memory of the session, and has the agent map it. */
int trace_share_memory(struct trace_session *session, struct sprof_error *error);

#endif
