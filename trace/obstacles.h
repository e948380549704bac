/* trace, inside: why nothing can be put into a program. */
#ifndef SPROF_TRACE_OBSTACLES_H
#define SPROF_TRACE_OBSTACLES_H

#include "agent/agent.h"
#include "trace/tracing.h"

/* Why the agent cannot be put into a program of such a file ("is linked statically"); NULL: it can,
 * or the program cannot run here. */
const char *trace_obstacle_of_file(enum agent_file kind, const char *path);

/* Why there is no room for the agent in a process, or in a command (0); NULL: there is. */
const char *trace_obstacle_of_room(pid_t pid);

/* Refuses a file that cannot run here. Returns the error's code. */
int trace_refuse_class(const char *name, enum agent_file kind, struct sprof_error *error);

/* Refuses a program. Returns the error's code. */
int trace_refuse(enum agent_file kind, const char *path, struct sprof_error *error);

/* Adds to the refusal of uprobes that were not asked for why they would be needed (`reason`, NULL:
 * they were asked for). Returns the error's code. */
int trace_explain_uprobes(const struct trace_options *options, const char *reason,
                          struct sprof_error *error);

#endif
