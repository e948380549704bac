/* trace, inside: whose a process is while it is traced: nobody else puts probes into it. What
 * others may ask is in owner.h. */
#ifndef SPROF_TRACE_ATTACH_LOCK_H
#define SPROF_TRACE_ATTACH_LOCK_H

#include "trace/tracing.h"

/* While the descriptor is open, wherever it was passed to, nobody else puts probes into the process
 * or takes them out. Waits for that for seconds; SPROF_ESTATE: somebody else does. */
int trace_lock(pid_t pid, int *fd, struct sprof_error *error);

/* The same, but does not wait for the end of a trace that goes on: SPROF_ESTATE says whose. */
int trace_lock_alone(pid_t pid, int *fd, struct sprof_error *error);

/* The same, but waits no longer than who was killed takes to let go of it. False: somebody else
 * does, or it cannot be seen. */
bool trace_lock_soon(pid_t pid, int *fd);

/* Whether a process that lives has executed something since the lock was taken. */
bool trace_lock_is_stale(pid_t pid, int fd);

/* … or does so just now, which may be why something else has failed. */
bool trace_lock_has_become_stale(pid_t pid, int fd);

/* Waits, half a second at most, while a process seems to have lost its first thread, as one does of
 * which another thread executes a program. */
void trace_wait_for_leader(pid_t pid);

/* SPROF_ENOTFOUND: what says that a process to be traced has ended meanwhile. */
int trace_refuse_ended(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: what says so. */
int trace_refuse_executed(pid_t pid, struct sprof_error *error);

/* SPROF_ESTATE: the process is being traced, and not about to be left alone. */
int trace_owner_check_alone(pid_t pid, struct sprof_error *error);

/* Whoever wants to trace its processes next may wait for that, or not, after all. */
void trace_owner_end(struct trace_session *session, bool is_ending);

/* Notes in the shared memory who traces, and what is put where: before it is, so that all that is
 * there is known. */
void trace_owner_write(struct trace_session *session);
void trace_owner_add_island(struct trace_session *session, uint64_t address, uint64_t bytes);

/* The last one is not there. */
void trace_owner_drop_island(struct trace_session *session, uint64_t address);

/* Who traces a process, or did until it was killed, and how many functions have probes. False:
 * nobody. */
bool trace_owner_read(pid_t pid, struct probe_owner *owner, uint32_t *functions);

/* SPROF_EUNSUPPORTED: somebody traces it, or did, whose sprof is of another version than this one.
 */
int trace_owner_check_version(pid_t pid, struct sprof_error *error);

#endif
