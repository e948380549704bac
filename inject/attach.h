/* Puts the agent into a running process by a borrowed thread. */
#ifndef SPROF_INJECT_ATTACH_H
#define SPROF_INJECT_ATTACH_H

#include "inject/process.h"
#include "target/target.h"

/* Checks that a process can be traced, locks it, and takes out probes of a killed trace. */
int inject_check(pid_t pid, int *lock_fd, const struct sprof_log *log, struct sprof_error *error);

/* True: a thread is under strict seccomp, which ends it if it reads the processor's counter. */
bool inject_is_strict(pid_t pid);

/* True: other users may not read the file. `closed`: the first closed directory, or the file. */
bool inject_is_closed(const char *library, char closed[TARGET_PATH_MAX]);

/* Why the agent cannot be loaded, such as "is in another pid namespace", or NULL. */
const char *inject_obstacle(pid_t pid);

/* Runs `act`, which borrows a thread, in a thread of inject_apart; then releases the borrowed one.
 * Returns act's result. */
typedef int inject_act(struct inject_process *process, void *context, struct sprof_error *error);
int inject_borrow_and_act(struct inject_process *process, inject_act *act, void *context,
                          struct sprof_error *error);

/* Loads the agent and gets its hello. */
int inject_enter(struct inject_process *process, struct sprof_error *error);

/* Sends a request by the borrowed thread. Returns the agent's answer, or -EIO with the error set if
 * the agent was not reached. */
int64_t inject_request(struct inject_process *process, const struct probe_request *request,
                       struct sprof_error *error);

/* Makes shared memory in the process, and copies its descriptor. SPROF_EUNSUPPORTED: before Linux
 * 5.6; SPROF_EPERMISSION: the process's descriptor is not of new memory. */
int inject_make_memory(struct inject_process *process, struct sprof_error *error);

/* True: sealed to `bytes`, so access raises no SIGBUS. */
bool inject_memory_is_sealed(int fd, uint64_t bytes);

/* Reports that the process could change the memory: SPROF_EPERMISSION. */
int inject_refuse_memory(const struct inject_process *process, struct sprof_error *error);

/* Borrows a thread wherever it is, for mapping but not for loading. */
int inject_borrow(struct inject_process *process, struct sprof_error *error);

/* Lets thunks measure, and measures their cost. Call it before probes are placed. */
int inject_begin(struct inject_process *process, struct sprof_error *error);

/* New descriptor of /proc/PID/mem, void after an execve. -1 with errno. */
int inject_open_code(const struct inject_process *process);

/* Unloads an unused agent. */
int inject_give_up(struct inject_process *process, struct sprof_error *error);

/* True: the program is static, or has another loader than glibc's. */
bool inject_raw_is_for(const char *path);

/* Why the agent cannot be mapped, such as "has several unwinders", or NULL; pid 0: by the file
 * alone. */
const char *inject_raw_obstacle(pid_t pid, const char *path);

#endif
