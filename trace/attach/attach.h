/* trace, inside: a running process, which the agent is loaded into by a thread that is borrowed. */
#ifndef SPROF_TRACE_ATTACH_ATTACH_H
#define SPROF_TRACE_ATTACH_ATTACH_H

#include "trace/attach/raw.h"
#include "trace/tracing.h"

/* Whether a running process can be traced, and its lock. The target is untouched, but that probes
 * of a trace that was killed are taken out. */
int trace_attach_check(pid_t pid, int *lock_fd, const struct sprof_log *log,
                       struct sprof_error *error);

/* As /proc has it. */
enum trace_seccomp { TRACE_SECCOMP_NOT, TRACE_SECCOMP_STRICT, TRACE_SECCOMP_FILTER };

/* What a thread is under; not, if it is gone. */
enum trace_seccomp trace_attach_seccomp_of(pid_t pid, pid_t tid);

/* Whether a thread of it is under strict seccomp, and was not seen to come there by a probe: it may
 * not read the processor's counter, and would be ended where a probe does. */
bool trace_attach_is_strict(pid_t pid);

/* Whether a thread of it is under seccomp, which may end it where it makes a system call that it
 * does not make by itself. */
bool trace_attach_is_filtered(pid_t pid);

/* Whether its modes keep users who are neither its owner nor of its group from reading the agent's
 * file: `closed` is the first directory on the way that they may not enter, or the file. */
bool trace_attach_is_closed(const char *library, char closed[TARGET_PATH_MAX]);

/* What the process "is" that the agent cannot be put into; NULL: nothing. */
const char *trace_attach_obstacle(pid_t pid);

/* Does something with a thread that is borrowed, as `act` begins with, in a thread of sprof's own
 * (trace_apart), and lets that go. Returns what `act` does. */
typedef int trace_borrowing(struct trace_session *session, void *context,
                            struct sprof_error *error);
int trace_attach_with_hand(struct trace_session *session, trace_borrowing *act, void *context,
                           struct sprof_error *error);

/* Loads the agent into the process, by a thread that it borrows, and has it say hello. */
int trace_attach_enter(struct trace_session *session, struct sprof_error *error);

/* Has the borrowed thread ask the agent. Returns the answer. */
int64_t trace_attached_ask(struct trace_session *session, const struct probe_request *request,
                           struct sprof_error *error);

/* Makes the shared memory in the process, and copies its descriptor. Below Linux 5.6
 * SPROF_EUNSUPPORTED; SPROF_EPERMISSION where the descriptor is anything but new, empty memory. */
int trace_attach_memory(struct trace_session *session, struct sprof_error *error);

/* Copies the descriptor `there` of the process's new memory. The same errors; SPROF_ENOTFOUND,
 * without a message, where the process has ended. */
int trace_memory_copy(struct trace_session *session, int there, struct sprof_error *error);

/* Whether shared memory has `bytes` and seals that keep that size: no access to its mapping raises
 * SIGBUS then. */
bool trace_memory_is_sealed(int fd, uint64_t bytes);

/* SPROF_EPERMISSION, of shared memory that the process could still change. */
int trace_refuse_memory(const struct trace_session *session, struct sprof_error *error);

/* Borrows a thread again, wherever it is: to map something, not to load. */
int trace_attach_borrow(struct trace_session *session, struct sprof_error *error);

/* Lets thunks measure, and finds out what they take. Probes are not placed yet. */
int trace_attach_begin(struct trace_session *session, struct sprof_error *error);

/* Whether a process has ended, and so has no memory, also while its parent has not waited for it.
 * False of another user's. */
bool trace_memory_is_gone(pid_t pid);

/* Opens the memory of a process for reading and writing; *fd is the caller's, and -1 on failure.
 * SPROF_ENOTFOUND where the process has ended, SPROF_EPERMISSION where the kernel refuses it. */
int trace_memory_open(pid_t pid, int *fd, struct sprof_error *error);

/* Its memory, as a descriptor of the caller's own. It leads nowhere once the process has executed
 * another program. -1 with errno. */
int trace_attach_memory_fd(const struct trace_attachment *attachment);

/* By what the agent is unloaded. */
struct trace_agent_place trace_attach_place(const struct trace_session *session);

/* Unloads an agent that has done nothing yet, if there is one. */
int trace_attach_give_up(struct trace_session *session, struct sprof_error *error);

/* Takes an agent out of a process that was being loaded into it, or had been, before there was any
 * shared memory. */
int trace_attach_sweep(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* Whether there is an agent in a process that was put into it while it ran, and nothing else of a
 * trace. Who has the process's lock knows by that that its tracer was killed, or could not unload
 * it. */
bool trace_attach_is_left(pid_t pid);

/* Whether the agent that said hello is in the process still. */
bool trace_attach_stays(const struct trace_session *session);

/* Unloads the agent, in which nobody is any more. False: it stays. Nothing is called where the
 * process has executed another program: what was its code may be anything there. */
bool trace_attach_unload(const struct trace_session *session, const struct trace_agent_place *place,
                         struct sprof_error *error);

void trace_attach_free(struct trace_attachment *attachment);

/* Takes all probes out of the process, and what was mapped for them. Its threads stand still for
 * milliseconds. Calls in flight stay in flight. SPROF_EPERMISSION, SPROF_ESTATE or SPROF_ENOTFOUND
 * (as trace_stop_while): the probes stay, and are off. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* The same for one of several processes that run a program, where the others go on being traced.
 * *stopped_ns: how long its threads stood still at most. On success something may be left that a
 * thread still needs, which a note says. */
int trace_take_out_of(pid_t pid, uint64_t *stopped_ns, const struct sprof_log *log,
                      struct sprof_error *error);

#endif
