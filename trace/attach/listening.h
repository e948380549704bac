/* trace, inside: a process that listens (agent/probe/listen.c). No thread of it is stopped or
 * borrowed, and ptrace is not used: the agent hands over the memory, and only probes in its files
 * are used, each switched by one byte. */
#ifndef SPROF_TRACE_ATTACH_LISTENING_H
#define SPROF_TRACE_ATTACH_LISTENING_H

#include "trace/tracing.h"

/* Connects to a process, and locks it. 1: it listens, 0: it does not; else an error: the peer is
 * another process, or must not be spoken to. */
int trace_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error);

/* Waits for the agent's hello, with which the memory comes: session->code_fd. */
int trace_listening_meet(struct trace_session *session, struct sprof_error *error);

/* Gives the chosen probes their thunks, and sets session->capacity. */
int trace_listening_number(struct trace_session *session, struct sprof_error *error);

/* Notes where a probe's switch leads, and how it is turned: `jump` is what it is when on. */
int trace_listening_aim(struct trace_session *session, uint64_t site,
                        const struct plan_function *function, uint64_t thunk,
                        uint8_t jump[PLAN_JUMP_BYTES], struct sprof_error *error);

/* Has the agent measure, and turns the switches on. */
int trace_listening_begin(struct trace_session *session, struct sprof_error *error);

/* Turns them off. Open calls end through the agent, which stays. The memory stays until
 * session->agent_fd is closed. */
void trace_listening_leave(struct trace_session *session);

#endif
