/* Connects to a program's agent and shares memory with it. */
#ifndef SPROF_TRACE_HANDSHAKE_H
#define SPROF_TRACE_HANDSHAKE_H

#include "trace/tracing.h"

/* SPROF_EUNSUPPORTED: the agent does not work there, or the command has ended. */
int trace_handshake(struct trace_session *session, struct sprof_error *error);

/* SPROF_EUNSUPPORTED: the command has ended. */
int trace_send_off(struct trace_session *session, struct sprof_error *error);

int trace_share_memory(struct trace_session *session, struct sprof_error *error);

#endif
