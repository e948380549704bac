/* Allocator functions, for heap check and bytes by function. */
#ifndef SPROF_PROBING_HEAP_H
#define SPROF_PROBING_HEAP_H

#include "probing/program.h"

int probing_heap_check_options(const struct trace_options *options, struct sprof_error *error);

bool probing_is_glibc(const char *path);

bool probing_heap_is_allocator(const struct probing_program *program,
                               const struct image_request *file);

int probing_heap_find(struct probing_program *program, struct sprof_error *error);

/* Returns a byte as in struct probe_heap; 0: none. */
uint8_t probing_heap_operation(const struct trace_options *options, const struct probing_file *file,
                               const struct plan_function *function);

/* SPROF_EUNSUPPORTED: there is no allocator, or a function of one has no probe, so that bytes would
 * be missed. */
int probing_heap_check_probes(struct probing_program *program, struct sprof_error *error);

/* Whether allocator functions are chosen; their entries must pass the agent's C part. */
bool probing_heap_measures_allocators(const struct probing_program *program);

/* Writes operations and limits of probes from `first` on for the agent. */
int probing_heap_begin(struct probing_program *program, size_t first, struct sprof_error *error);

#endif
