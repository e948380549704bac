/* trace, inside: functions of allocators, for the heap check and for bytes by function. */
#ifndef SPROF_TRACE_PROBES_HEAP_H
#define SPROF_TRACE_PROBES_HEAP_H

#include "trace/tracing.h"

/* Checks the expressions, before anything runs. */
int trace_heap_check_options(const struct trace_options *options, struct sprof_error *error);

bool trace_is_glibc(const char *path);

/* Whether any of the two is wanted, and functions of a file allocate memory for the program. */
bool trace_heap_is_allocator(const struct trace_session *session, const struct image_request *file);

/* Finds the functions of allocators in known files. */
int trace_heap_find(struct trace_session *session, struct sprof_error *error);

/* What a function of a file does, as a byte of struct probe_heap; 0: nothing of that. */
uint8_t trace_heap_operation(const struct trace_options *options, const struct trace_file *file,
                             const struct plan_function *function);

/* SPROF_EUNSUPPORTED where bytes would be missed: there is no allocator, or its functions cannot be
 * probed. */
int trace_heap_check_probes(struct trace_session *session, struct sprof_error *error);

/* Whether functions of allocators are chosen, too: their entries must pass the agent's C part. */
bool trace_heap_measures_allocators(const struct trace_session *session);

/* Writes for the agent what the probes from `first` on do, and how much their calls may leave. */
int trace_heap_begin(struct trace_session *session, size_t first, struct sprof_error *error);

#endif
