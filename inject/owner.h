/* The tracer of a process: for commands that control its trace, or clean up after it. */
#ifndef SPROF_INJECT_OWNER_H
#define SPROF_INJECT_OWNER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum { INJECT_OUTPUT_BYTES = 1024 };

/* Finds the recording into which a process is being traced. *is_alive: the tracer lives.
 * SPROF_ESTATE where it is not traced. */
int inject_find_owner(pid_t pid, char output[INJECT_OUTPUT_BYTES], bool *is_alive,
                      struct sprof_error *error);

/* Whether a process has an agent that waits for tracers, or is traced through it. */
bool inject_listens(pid_t pid);

/* Whether a process that is not traced has an agent, because its tracer was killed before there
 * were probes: inject_clean_up takes it out. */
bool inject_has_left_agent(pid_t pid);

/* Whether the trace of a process is over, and its probes have stayed, as with --children:
 * inject_clean_up takes them out. */
bool inject_is_over(pid_t pid);

/* Takes probes out of a process whose tracer was killed, or whose trace is over. Errors as of
 * detaching. */
int inject_clean_up(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

struct cache;
struct plan_module;

/* As plan_process, of all files, without what a tracer has put into the process. */
int inject_plan_untraced(pid_t pid, struct cache *cache,
                         int (*module)(void *context, struct plan_module *module), void *context,
                         bool *runs_generated_code, struct sprof_error *error);

/* Whether a process is traced into that file as a child of a traced command, or together with
 * others. */
bool inject_is_with_others(pid_t pid, const char *output);

#endif
