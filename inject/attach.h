/* The way into a running process: a borrowed thread loads or maps the agent. */
#ifndef SPROF_INJECT_ATTACH_H
#define SPROF_INJECT_ATTACH_H

#include "inject/process.h"
#include "target/target.h"

/* Checks whether a running process can be traced, and locks it. The target is unchanged, but that
 * probes of a killed trace are taken out. */
int inject_check(pid_t pid, int *lock_fd, const struct sprof_log *log, struct sprof_error *error);

/* Whether a thread is under strict seccomp without a probe having seen it come there. It may not
 * read the processor's counter, and would be ended where a probe does. */
bool inject_is_strict(pid_t pid);

/* Whether modes keep users who are neither owner nor of the group from reading the agent's file.
 * `closed`: the first directory that they may not enter, or the file. */
bool inject_is_closed(const char *library, char closed[TARGET_PATH_MAX]);

/* Why the agent cannot be put into a process ("is …"); NULL: it can. */
const char *inject_obstacle(pid_t pid);

/* Acts with a borrowed thread, in a thread of sprof's own (inject_apart), and lets it go. Returns
 * what the act returns. */
typedef int inject_act(struct inject_process *process, void *context, struct sprof_error *error);
int inject_borrow_and_act(struct inject_process *process, inject_act *act, void *context,
                          struct sprof_error *error);

/* Loads the agent by a borrowed thread, and has it say hello. */
int inject_enter(struct inject_process *process, struct sprof_error *error);

/* Has the borrowed thread carry a request to the agent. Returns the answer. */
int64_t inject_request(struct inject_process *process, const struct probe_request *request,
                       struct sprof_error *error);

/* Makes the shared memory in the process, and copies its descriptor. Below Linux 5.6
 * SPROF_EUNSUPPORTED; SPROF_EPERMISSION where the descriptor is not of new, empty memory. */
int inject_make_memory(struct inject_process *process, struct sprof_error *error);

/* Whether shared memory has `bytes` and is sealed, so that no access to its mapping raises SIGBUS.
 */
bool inject_memory_is_sealed(int fd, uint64_t bytes);

/* SPROF_EPERMISSION for shared memory that the process could still change. */
int inject_refuse_memory(const struct inject_process *process, struct sprof_error *error);

/* Borrows a thread again, wherever it is: to map, not to load. */
int inject_borrow(struct inject_process *process, struct sprof_error *error);

/* Lets thunks measure, and measures their cost. Probes are not placed yet. */
int inject_begin(struct inject_process *process, struct sprof_error *error);

/* Its memory, as a descriptor of the caller's own, which leads nowhere after an execve. -1 with
 * errno. */
int inject_open_code(const struct inject_process *process);

/* Unloads an agent that has done nothing yet, if there is one. */
int inject_give_up(struct inject_process *process, struct sprof_error *error);

void inject_attachment_free(struct inject_attachment *attachment);

/* Whether a program of such a file is entered by mapping: it is linked statically, or for another
 * loader than glibc's. */
bool inject_raw_is_for(const char *path);

/* Why nothing can be put into such a process ("has …"); with pid 0 into a program of such a file,
 * as far as it shows. NULL: it can. */
const char *inject_raw_obstacle(pid_t pid, const char *path);

#endif
