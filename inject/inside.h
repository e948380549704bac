/* inject, inside: the agent's file as a process sees it, and facts of a process from /proc.
 */
#ifndef SPROF_INJECT_INSIDE_H
#define SPROF_INJECT_INSIDE_H

#include "target/target.h"

#include "inject/process.h"
#include "inject/raw.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether the process has no loader for the agent, so its file is mapped: see raw.h. */
bool inject_is_raw(pid_t pid);

/* The path of the agent's file for such a process. SPROF_ENOTFOUND. */
int inject_find_agent(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* The same where the process sees that file; else SPROF_EUNSUPPORTED. */
int inject_find_library(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* 1: the process sees the same file by that path; 0: another one, or none; -1: its root cannot be
 * read, or is gone. */
int inject_sees(pid_t pid, const char *file);

/* SPROF_EPERMISSION with the error set, if modes keep a process from loading the agent; else 0. */
int inject_explain_closed(pid_t pid, const char *library, struct sprof_error *error);

/* Whether a line of /proc/PID/maps contains that text. */
bool inject_has_mapping(pid_t pid, const char *part);

/* Where the agent's file is mapped as a way in maps it: executable, or without any right to reserve
 * addresses; 0: nowhere. A program may map it to read it, as any file. */
uint64_t inject_find_base(pid_t pid, const char *library);

/* Address of sprof_probe_asked there; 0: none. */
uint64_t inject_find_asked(pid_t pid, const char *library);

/* Whether a garbage collector may read the data of the agent's file. */
bool inject_has_collector(pid_t pid);

/* The text behind a name in /proc/PID/status, or "". */
void inject_read_status(pid_t pid, const char *name, char *value, size_t size);

/* Advice where nothing could be mapped in a process that locks its memory; else "". */
const char *inject_lock_advice(pid_t pid);

/* Modes of /proc. */
enum inject_seccomp { INJECT_SECCOMP_NOT, INJECT_SECCOMP_STRICT, INJECT_SECCOMP_FILTER };

/* The mode of a thread; NOT where it is gone. */
enum inject_seccomp inject_seccomp_of(pid_t pid, pid_t tid);

/* Whether a thread is under seccomp, which may end it at a system call that it does not make by
 * itself. */
bool inject_is_filtered(pid_t pid);

/* By what the agent is unloaded. */
struct inject_agent_location inject_agent_location_of(const struct inject_process *process);

/* Takes an agent out of a process that has no shared memory yet, or no more. */
int inject_recover_agent(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

/* Whether a process has an agent that was put into it while it ran, and nothing else of a trace.
 * With the lock held, this means that its tracer was killed, or could not unload it. */
bool inject_is_agent_left(pid_t pid);

/* Whether the agent that said hello is still in the process. */
bool inject_agent_stays(const struct inject_process *process);

/* Unloads the agent, in which no thread is any more. False: it stays. Nothing is called after an
 * execve, when other code may be there. */
bool inject_unload_agent(const struct inject_process *process,
                         const struct inject_agent_location *location, struct sprof_error *error);

#endif
