/* Internal: locks a process against other tracers, and notes its tracer. */
#ifndef SPROF_INJECT_LOCK_H
#define SPROF_INJECT_LOCK_H

#include "inject/process.h"

/* The lock lasts while any copy of *fd is open. Waits for seconds. SPROF_ESTATE: another sprof
 * holds it. */
int inject_lock(pid_t pid, int *fd, struct sprof_error *error);

/* The same. SPROF_ESTATE at once for a traced process. */
int inject_lock_alone(pid_t pid, int *fd, struct sprof_error *error);

/* Waits only for a killed holder. False: not locked. */
bool inject_lock_soon(pid_t pid, int *fd);

/* True: the process lives, and has executed something since. */
bool inject_lock_is_stale(pid_t pid, int fd);

/* The same, but waits for an exec in progress. */
bool inject_lock_has_become_stale(pid_t pid, int fd);

/* Waits half a second at most while the first thread seems to have ended, as during an exec. */
void inject_wait_for_leader(pid_t pid);

/* These report SPROF_ENOTFOUND and SPROF_ESTATE. */
int inject_refuse_ended(pid_t pid, struct sprof_error *error);
int inject_refuse_executed(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: the process is being traced, and the trace is not about to end. */
int inject_owner_check_alone(pid_t pid, struct sprof_error *error);

/* Notes tracer and mappings in the shared memory. Call it before mapping. */
void inject_owner_write(struct inject_process *process, const char *output, bool has_others);
void inject_owner_add_island(struct inject_process *process, uint64_t address, uint64_t bytes);

/* Call it for an island that was not made. */
void inject_owner_drop_island(struct inject_process *process, uint64_t address);

/* Reads the tracer, alive or killed, and the number of functions with probes. False: none. */
bool inject_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions);

/* SPROF_EUNSUPPORTED: another version of sprof. */
int inject_owner_check_version(pid_t pid, struct sprof_error *error);

#endif
