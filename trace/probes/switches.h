/* trace, inside: the switches of a process that listens (agent/probe/listen.c). No thread of it is
 * stopped or borrowed, and ptrace is not used: only probes in its files are used, each switched by
 * one byte. */
#ifndef SPROF_TRACE_PROBES_SWITCHES_H
#define SPROF_TRACE_PROBES_SWITCHES_H

#include "trace/tracing.h"

/* Gives the chosen probes their thunks, and sets session->capacity. */
int trace_switches_number(struct trace_session *session, struct sprof_error *error);

/* Notes where a probe's switch leads, and how it is turned: `jump` is what it is when on. */
int trace_switches_aim(struct trace_session *session, uint64_t site,
                       const struct plan_function *function, uint64_t thunk,
                       uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error);

/* Has the agent measure, and turns the switches on. */
int trace_switches_begin(struct trace_session *session, struct sprof_error *error);

/* Turns them off. Open calls end through the agent, which stays. The memory stays until the agent's
 * socket is closed. */
void trace_switches_leave(struct trace_session *session);

#endif
