/* trace, inside: threads that a tracer had borrowed when it was killed. */
#ifndef SPROF_TRACE_ATTACH_LENT_H
#define SPROF_TRACE_ATTACH_LENT_H

#include "base/base.h"

#include <sys/types.h>

/* Waits, for seconds at most, until all have come back. The threads stand still for moments
 * meanwhile. SPROF_ESTATE: one has not; SPROF_EPERMISSION and SPROF_ENOTFOUND as of
 * trace_stop_while. */
int trace_lent_wait(pid_t pid, struct sprof_error *error);

#endif
