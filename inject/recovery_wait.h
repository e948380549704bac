/* Internal: threads that a killed tracer had borrowed. */
#ifndef SPROF_INJECT_RECOVERY_WAIT_H
#define SPROF_INJECT_RECOVERY_WAIT_H

#include "base/base.h"

#include <sys/types.h>

/* Waits for seconds until all are back. SPROF_ESTATE: one is not; others as of inject_stop_while.
 */
int inject_recovery_wait(pid_t pid, struct sprof_error *error);

#endif
