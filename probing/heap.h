/* Allocator functions, for heap check and bytes by function. */
#ifndef SPROF_PROBING_HEAP_H
#define SPROF_PROBING_HEAP_H

#include "probing/program.h"

int trace_heap_check_options(const struct trace_options *options, struct sprof_error *error);

bool trace_is_glibc(const char *path);

bool trace_heap_is_allocator(const struct probing_program *session,
                             const struct image_request *file);

int trace_heap_find(struct probing_program *session, struct sprof_error *error);

/* Returns a byte as in struct probe_heap; 0: none. */
uint8_t trace_heap_operation(const struct trace_options *options, const struct trace_file *file,
                             const struct plan_function *function);

/* SPROF_EUNSUPPORTED: there is no allocator, or a function of one has no probe, so that bytes would
 * be missed. */
int trace_heap_check_probes(struct probing_program *session, struct sprof_error *error);

/* Whether allocator functions are chosen; their entries must pass the agent's C part. */
bool trace_heap_measures_allocators(const struct probing_program *session);

/* Writes operations and limits of probes from `first` on for the agent. */
int trace_heap_begin(struct probing_program *session, size_t first, struct sprof_error *error);

#endif
