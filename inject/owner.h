/* Finds the tracer of a process, to control its trace or clean up. */
#ifndef SPROF_INJECT_OWNER_H
#define SPROF_INJECT_OWNER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum { INJECT_OUTPUT_BYTES = 1024 };

/* `output`: the recording. *is_alive: the tracer lives. SPROF_ESTATE: not traced. */
int inject_find_owner(pid_t pid, char output[INJECT_OUTPUT_BYTES], bool *is_alive,
                      struct sprof_error *error);

/* True: the agent waits for tracers, or has one. */
bool inject_listens(pid_t pid);

/* True: a tracer was killed before it had probes. */
bool inject_has_left_agent(pid_t pid);

/* True: a trace has left its probes, as with --children. */
bool inject_is_over(pid_t pid);

/* Takes out what a killed or ended trace has left. Errors as of inject_take_out. */
int inject_clean_up(pid_t pid, const struct sprof_log *log, struct sprof_error *error);

struct cache;
struct plan_module;

/* Like plan_process for all files, without what a tracer put in. */
int inject_plan_untraced(pid_t pid, struct cache *cache,
                         int (*module)(void *context, struct plan_module *module), void *context,
                         bool *runs_generated_code, struct sprof_error *error);

/* True: traced into that file as a child of the command, or with others. */
bool inject_is_with_others(pid_t pid, const char *output);

#endif
