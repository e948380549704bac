/* Reasons why the agent cannot be put into a program. Functions with int return the error's
 * code. */
#ifndef SPROF_TRACE_OBSTACLES_H
#define SPROF_TRACE_OBSTACLES_H

#include "agent/agent.h"
#include "trace/tracing.h"

/* Returns text such as "is linked statically". NULL: no obstacle, or the file cannot run here. */
const char *trace_obstacle_of_file(enum agent_file kind, const char *path);

/* Checks the room in a process, or in a command (pid 0). NULL: enough. */
const char *trace_obstacle_of_room(pid_t pid);

int trace_refuse_class(const char *name, enum agent_file kind, struct sprof_error *error);

int trace_refuse(enum agent_file kind, const char *path, struct sprof_error *error);

/* Adds `reason`, which makes uprobes necessary, to their error. NULL: the user chose them. */
int trace_explain_uprobes(const struct trace_options *options, const char *reason,
                          struct sprof_error *error);

#endif
