/* trace/attach, inside: the agent's file as a process sees it, and what /proc tells of a process.
 */
#ifndef SPROF_TRACE_ATTACH_INSIDE_H
#define SPROF_TRACE_ATTACH_INSIDE_H

#include "target/target.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether no loader can be asked to load the agent, so that its file is mapped: see raw.h. */
bool trace_attach_is_raw(pid_t pid);

/* The path of the agent's file for such a process. SPROF_ENOTFOUND. */
int trace_attach_find_agent(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* The same where the process sees that file, too; else SPROF_EUNSUPPORTED. */
int trace_attach_find_library(pid_t pid, char library[TARGET_PATH_MAX], struct sprof_error *error);

/* 1: the process sees the same file by that path; 0: it sees another, or none; -1: its root is not
 * to be seen, or it has none any more. */
int trace_attach_sees(pid_t pid, const char *file);

/* SPROF_EPERMISSION with the error set, if that is why a process could not load the agent; else 0.
 */
int trace_attach_explain_closed(pid_t pid, const char *library, struct sprof_error *error);

/* Whether some mapping's line in /proc/PID/maps has that in it. */
bool trace_attach_has_mapping(pid_t pid, const char *part);

/* Where the agent's file is mapped as only who loads it maps it, 0: nowhere: to be executed, or, to
 * reserve addresses for its parts, without any right. A program may map it to read it, as any
 * file. */
uint64_t trace_attach_find_base(pid_t pid, const char *library);

/* Where sprof_probe_asked of that is; 0: nowhere. */
uint64_t trace_attach_find_asked(pid_t pid, const char *library);

/* Whether a collector of garbage may read the data of the agent's file. */
bool trace_attach_has_collector(pid_t pid);

/* What stands behind a name in /proc/PID/status, or "". */
void trace_attach_read_status(pid_t pid, const char *name, char *value, size_t size);

/* A line to add where nothing could be mapped in a process that locks its memory; else "". */
const char *trace_attach_lock_advice(pid_t pid);

#endif
