/* Internal: processes with the same memory. */
#ifndef SPROF_INJECT_SHARERS_H
#define SPROF_INJECT_SHARERS_H

#include "base/proc.h"

#include <stdbool.h>
#include <sys/types.h>

/* Lists them and vfork children. Omits one without a first thread, or that sprof may not trace.
 * SPROF_ENOMEM. */
int inject_sharers_find(pid_t pid, struct sprof_id_list *sharers);

bool inject_has_sharer(pid_t pid);

/* True: one has been there for a tenth of a second, and is no vfork child. */
bool inject_has_lasting_sharer(pid_t pid);

#endif
