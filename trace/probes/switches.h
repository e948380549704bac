/* Embedded probes of a listening process (agent/probe/listen.c): one byte switches each, without
 * ptrace and stopped or borrowed threads. */
#ifndef SPROF_TRACE_PROBES_SWITCHES_H
#define SPROF_TRACE_PROBES_SWITCHES_H

#include "trace/tracing.h"

/* Sets session->capacity. */
int trace_switches_number(struct trace_session *session, struct sprof_error *error);

/* Writes where a switch leads; `jump`: its bytes when on. */
int trace_switches_aim(struct trace_session *session, uint64_t site,
                       const struct plan_function *function, uint64_t thunk,
                       uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error);

int trace_switches_begin(struct trace_session *session, struct sprof_error *error);

/* The agent stays for open calls, the memory until its socket is closed. */
void trace_switches_leave(struct trace_session *session);

#endif
