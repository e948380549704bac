/* trace, inside: the agent of a program, and the memory that sprof shares with it. */
#ifndef SPROF_TRACE_HANDSHAKE_H
#define SPROF_TRACE_HANDSHAKE_H

#include "trace/tracing.h"

/* Waits for the agent's hello. SPROF_EUNSUPPORTED where the agent cannot work there, or the command
 * has ended. */
int trace_handshake(struct trace_session *session, struct sprof_error *error);

/* Lets the waiting command go on. SPROF_EUNSUPPORTED where it has ended. */
int trace_send_off(struct trace_session *session, struct sprof_error *error);

/* Makes the shared memory of the session, and has the agent map it. */
int trace_share_memory(struct trace_session *session, struct sprof_error *error);

#endif
