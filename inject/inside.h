/* Internal: the agent's file in a process, and facts from /proc. */
#ifndef SPROF_INJECT_INSIDE_H
#define SPROF_INJECT_INSIDE_H

#include "target/target.h"

#include "inject/process.h"
#include "inject/raw.h"

#include <stdbool.h>
#include <sys/types.h>

/* True: the agent's file is mapped, not loaded (raw.h). */
bool inject_is_raw(pid_t pid);

/* Path of the agent's file. SPROF_ENOTFOUND. */
int inject_find_agent(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* The same. SPROF_EUNSUPPORTED: the process does not see it. */
int inject_find_library(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* 1: the process sees the same file; 0: no; -1: its root is unreadable. */
int inject_sees(pid_t pid, const char *file);

/* SPROF_EPERMISSION, if file modes forbid loading. */
int inject_explain_closed(pid_t pid, const char *library, struct sprof_error *error);

/* Searches /proc/PID/maps. */
bool inject_has_mapping(pid_t pid, const char *part);

/* Where the agent's file is mapped as code, or reserved; 0: nowhere. A program may also map it to
 * read. */
uint64_t inject_find_base(pid_t pid, const char *library);

/* Address of sprof_probe_asked, or 0. */
uint64_t inject_find_asked(pid_t pid, const char *library);

bool inject_has_collector(pid_t pid);

/* From /proc/PID/status, or "". */
void inject_read_status(pid_t pid, const char *name, char *value, size_t size);

/* Advice for a process that locks its memory, or "". */
const char *inject_lock_advice(pid_t pid);

enum inject_seccomp { INJECT_SECCOMP_NOT, INJECT_SECCOMP_STRICT, INJECT_SECCOMP_FILTER };

/* NOT if the thread is gone. */
enum inject_seccomp inject_seccomp_of(pid_t pid, pid_t tid);

/* True: a thread is under seccomp, which may end it at sprof's system calls. */
bool inject_is_filtered(pid_t pid);

struct inject_agent_location inject_agent_location_of(const struct inject_process *process);

/* Takes out an agent that has no shared memory. */
int inject_recover_agent(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* True: the process has an agent that came while it ran, and no probes. With the lock held: its
 * tracer was killed, or could not unload it. */
bool inject_is_agent_left(pid_t pid);

bool inject_agent_stays(const struct inject_process *process);

/* No thread may be in it. False: it stays. After an execve nothing is called, as other code may be
 * there. */
bool inject_unload_agent(const struct inject_process *process,
                         const struct inject_agent_location *location, struct sprof_error *error);

#endif
