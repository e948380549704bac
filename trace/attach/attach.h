/* trace, inside: a running process into which a borrowed thread loads the agent. */
#ifndef SPROF_TRACE_ATTACH_ATTACH_H
#define SPROF_TRACE_ATTACH_ATTACH_H

#include "trace/attach/raw.h"
#include "trace/tracing.h"

/* Checks whether a running process can be traced, and locks it. The target is unchanged, but that
 * probes of a killed trace are taken out. */
int trace_attach_check(pid_t pid, int *lock_fd, const struct sprof_log *log,
                       struct sprof_error *error);

/* Modes of /proc. */
enum trace_seccomp { TRACE_SECCOMP_NOT, TRACE_SECCOMP_STRICT, TRACE_SECCOMP_FILTER };

/* The mode of a thread; NOT where it is gone. */
enum trace_seccomp trace_attach_seccomp_of(pid_t pid, pid_t tid);

/* Whether a thread is under strict seccomp without a probe having seen it come there. It may not
 * read the processor's counter, and would be ended where a probe does. */
bool trace_attach_is_strict(pid_t pid);

/* Whether a thread is under seccomp, which may end it at a system call that it does not make by
 * itself. */
bool trace_attach_is_filtered(pid_t pid);

/* Whether modes keep users who are neither owner nor of the group from reading the agent's file.
 * `closed`: the first directory that they may not enter, or the file. */
bool trace_attach_is_closed(const char *library, char closed[TARGET_PATH_MAX]);

/* Why the agent cannot be put into a process ("is …"); NULL: it can. */
const char *trace_attach_obstacle(pid_t pid);

/* Acts with a borrowed thread, in a thread of sprof's own (trace_apart), and lets it go. Returns
 * what the act returns. */
typedef int trace_borrowing(struct trace_session *session, void *context,
                            struct sprof_error *error);
int trace_attach_with_hand(struct trace_session *session, trace_borrowing *act, void *context,
                           struct sprof_error *error);

/* Loads the agent by a borrowed thread, and has it say hello. */
int trace_attach_enter(struct trace_session *session, struct sprof_error *error);

/* Has the borrowed thread carry a request to the agent. Returns the answer. */
int64_t trace_attached_ask(struct trace_session *session, const struct probe_request *request,
                           struct sprof_error *error);

/* Makes the shared memory in the process, and copies its descriptor. Below Linux 5.6
 * SPROF_EUNSUPPORTED; SPROF_EPERMISSION where the descriptor is not of new, empty memory. */
int trace_attach_memory(struct trace_session *session, struct sprof_error *error);

/* Copies the descriptor `there` of the process's new memory. The same errors; SPROF_ENOTFOUND,
 * without a message, where the process has ended. */
int trace_memory_copy(struct trace_session *session, int there, struct sprof_error *error);

/* Whether shared memory has `bytes` and is sealed, so that no access to its mapping raises SIGBUS.
 */
bool trace_memory_is_sealed(int fd, uint64_t bytes);

/* SPROF_EPERMISSION for shared memory that the process could still change. */
int trace_refuse_memory(const struct trace_session *session, struct sprof_error *error);

/* Borrows a thread again, wherever it is: to map, not to load. */
int trace_attach_borrow(struct trace_session *session, struct sprof_error *error);

/* Lets thunks measure, and measures their cost. Probes are not placed yet. */
int trace_attach_begin(struct trace_session *session, struct sprof_error *error);

/* Whether a process has ended, and so has no memory, even before its parent reaps it. False for
 * another user's. */
bool trace_memory_is_gone(pid_t pid);

/* Opens the memory of a process for reading and writing; *fd is the caller's, -1 on failure.
 * SPROF_ENOTFOUND where the process has ended, SPROF_EPERMISSION where the kernel refuses it. */
int trace_memory_open(pid_t pid, int *fd, struct sprof_error *error);

/* Its memory, as a descriptor of the caller's own, which leads nowhere after an execve. -1 with
 * errno. */
int trace_attach_memory_fd(const struct trace_attachment *attachment);

/* By what the agent is unloaded. */
struct trace_agent_place trace_attach_place(const struct trace_session *session);

/* Unloads an agent that has done nothing yet, if there is one. */
int trace_attach_give_up(struct trace_session *session, struct sprof_error *error);

/* Takes an agent out of a process that has no shared memory yet, or no more. */
int trace_attach_sweep(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* Whether a process has an agent that was put into it while it ran, and nothing else of a trace.
 * With the lock held, this means that its tracer was killed, or could not unload it. */
bool trace_attach_is_left(pid_t pid);

/* Whether the agent that said hello is still in the process. */
bool trace_attach_stays(const struct trace_session *session);

/* Unloads the agent, in which no thread is any more. False: it stays. Nothing is called after an
 * execve, when other code may be there. */
bool trace_attach_unload(const struct trace_session *session, const struct trace_agent_place *place,
                         struct sprof_error *error);

void trace_attach_free(struct trace_attachment *attachment);

/* Takes out all probes and what was mapped for them. Threads stand still for milliseconds. Open
 * calls stay open. SPROF_EPERMISSION, SPROF_ESTATE or SPROF_ENOTFOUND (as trace_stop_while): the
 * probes stay, switched off. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* The same for one of several processes of a program. *stopped_ns: the longest stop. Something that
 * a thread still needs may stay, which a note says. */
int trace_take_out_of(pid_t pid, uint64_t *stopped_ns, const struct sprof_log *log,
                      struct sprof_error *error);

#endif
