/* trace, inside: a process that listens for its tracer (agent/probe/listen.c). Nobody stops its
 * threads, borrows one or reads its memory by ptrace: the agent hands over what is needed, and only
 * probes that are in its files are used, each of which one byte switches. */
#ifndef SPROF_TRACE_ATTACH_LISTENING_H
#define SPROF_TRACE_ATTACH_LISTENING_H

#include "trace/tracing.h"

/* Connects to a process, and locks it. 1: it listens, 0: it does not; else an error: whoever
 * listens there is somebody else, or must not be spoken to. */
int trace_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error);

/* Waits for the agent's hello, with which the memory comes: session->code_fd. */
int trace_listening_meet(struct trace_session *session, struct sprof_error *error);

/* Says which thunks the chosen probes have, and how many there are: session->capacity. */
int trace_listening_number(struct trace_session *session, struct sprof_error *error);

/* Notes where a probe's switch leads to, and how it is turned: `jump` is what it is when on. */
int trace_listening_aim(struct trace_session *session, uint64_t site,
                        const struct plan_function *function, uint64_t thunk,
                        uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error);

/* Has the agent measure, and turns the switches. */
int trace_listening_begin(struct trace_session *session, struct sprof_error *error);

/* Turns them off. Calls in flight end as they began, through the agent, which stays. What the
 * memory holds is there until session->agent_fd is closed. */
void trace_listening_leave(struct trace_session *session);

#endif
