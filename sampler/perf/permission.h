/* Saying why something is refused, and what cures it. */
#ifndef SPROF_SAMPLER_PERF_PERMISSION_H
#define SPROF_SAMPLER_PERF_PERMISSION_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

/* Explains why perf_event_open failed with `errnum` for a target (0: the launched command). Returns
 * the code of the error it fills. */
int perf_explain(pid_t target, bool is_thread, int errnum, struct sprof_error *error);

/* Explains that no ring, however small, could be mapped. */
int perf_explain_rings(size_t ring_bytes, int errnum, struct sprof_error *error);

/* Explains why the whole machine may not be sampled, and which users may do it. */
int perf_explain_all_cpus(struct sprof_error *error);

/* One line why the kernel is not sampled. */
void perf_explain_kernel_excluded(char *text, size_t size);

#endif
