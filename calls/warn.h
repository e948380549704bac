/* Warnings of slow or deep calls. */
#ifndef SPROF_CALLS_WARN_H
#define SPROF_CALLS_WARN_H

#include "calls/program.h"

int calls_warnings_check(const struct trace_options *options, struct sprof_error *error);

bool calls_warns(const struct trace_options *options);

/* Writes limits of probes from `first` on for the agent. */
int calls_warnings_begin(struct calls_program *program, size_t first, struct sprof_error *error);

/* Writes new warnings. Searches for unreturned calls now and then. Returns 0 or SPROF_ENOMEM. */
int calls_warnings_collect(struct calls_program *program);

/* Writes only agents' warnings, before another thread gets their slab. Returns 0 or
 * SPROF_ENOMEM. */
int calls_warnings_read(struct calls_program *program);

void calls_warnings_free(struct calls_program *program);

#endif
