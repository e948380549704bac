/* inject, inside: the lock of a traced process, against other tracers. */
#ifndef SPROF_INJECT_LOCK_H
#define SPROF_INJECT_LOCK_H

#include "inject/process.h"

/* Locks a process: while the descriptor is open anywhere, no other sprof puts probes into it or
 * takes them out. Waits for seconds; SPROF_ESTATE: another one holds it. */
int inject_lock(pid_t pid, int *fd, struct sprof_error *error);

/* The same, but does not wait for the end of a trace that goes on: SPROF_ESTATE names it. */
int inject_lock_alone(pid_t pid, int *fd, struct sprof_error *error);

/* The same, but waits no longer than a killed holder takes to release it. False: another one holds
 * it, or the file cannot be read. */
bool inject_lock_soon(pid_t pid, int *fd);

/* Whether a live process has executed something since the lock was taken. */
bool inject_lock_is_stale(pid_t pid, int fd);

/* Whether it does so just now, which may be why something else has failed. */
bool inject_lock_has_become_stale(pid_t pid, int fd);

/* Waits, half a second at most, while a process seems to have lost its first thread, as during an
 * exec by another one. */
void inject_wait_for_leader(pid_t pid);

/* SPROF_ENOTFOUND: reports that a process to be traced has ended. */
int inject_refuse_ended(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: reports an exec. */
int inject_refuse_executed(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: the process is being traced, and not about to be left. */
int inject_owner_check_alone(pid_t pid, struct sprof_error *error);

/* Notes in the shared memory the tracer, and what is mapped where, before it is mapped. */
void inject_owner_write(struct inject_process *process, const char *output, bool has_others);
void inject_owner_add_island(struct inject_process *process, uint64_t address, uint64_t bytes);

/* The last island was not made. */
void inject_owner_drop_island(struct inject_process *process, uint64_t address);

/* Reads the tracer of a process, alive or killed, and the number of functions with probes. False:
 * none. */
bool inject_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions);

/* SPROF_EUNSUPPORTED: the tracer is a sprof of another version. */
int inject_owner_check_version(pid_t pid, struct sprof_error *error);

#endif
