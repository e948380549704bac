/* trace/attach, inside: the agent's file as a process sees it, and facts of a process from /proc.
 */
#ifndef SPROF_TRACE_ATTACH_INSIDE_H
#define SPROF_TRACE_ATTACH_INSIDE_H

#include "target/target.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether the process has no loader for the agent, so its file is mapped: see raw.h. */
bool trace_attach_is_raw(pid_t pid);

/* The path of the agent's file for such a process. SPROF_ENOTFOUND. */
int trace_attach_find_agent(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* The same where the process sees that file; else SPROF_EUNSUPPORTED. */
int trace_attach_find_library(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* 1: the process sees the same file by that path; 0: another one, or none; -1: its root cannot be
 * read, or is gone. */
int trace_attach_sees(pid_t pid, const char *file);

/* SPROF_EPERMISSION with the error set, if modes keep a process from loading the agent; else 0. */
int trace_attach_explain_closed(pid_t pid, const char *library, struct sprof_error *error);

/* Whether a line of /proc/PID/maps contains that text. */
bool trace_attach_has_mapping(pid_t pid, const char *part);

/* Where the agent's file is mapped as a way in maps it: executable, or without any right to reserve
 * addresses; 0: nowhere. A program may map it to read it, as any file. */
uint64_t trace_attach_find_base(pid_t pid, const char *library);

/* Address of sprof_probe_asked there; 0: none. */
uint64_t trace_attach_find_asked(pid_t pid, const char *library);

/* Whether a garbage collector may read the data of the agent's file. */
bool trace_attach_has_collector(pid_t pid);

/* The text behind a name in /proc/PID/status, or "". */
void trace_attach_read_status(pid_t pid, const char *name, char *value, size_t size);

/* Advice where nothing could be mapped in a process that locks its memory; else "". */
const char *trace_attach_lock_advice(pid_t pid);

#endif
