/* inject, inside: threads that a tracer had borrowed when it was killed. */
#ifndef SPROF_INJECT_RECOVERY_WAIT_H
#define SPROF_INJECT_RECOVERY_WAIT_H

#include "base/base.h"

#include <sys/types.h>

/* Waits, for seconds at most, until all have come back. The threads stand still for moments
 * meanwhile. SPROF_ESTATE: one has not; SPROF_EPERMISSION and SPROF_ENOTFOUND as of
 * inject_stop_while. */
int inject_recovery_wait(pid_t pid, struct sprof_error *error);

#endif
