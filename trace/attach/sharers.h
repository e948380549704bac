/* trace, inside: processes that share the memory of another one. */
#ifndef SPROF_TRACE_ATTACH_SHARERS_H
#define SPROF_TRACE_ATTACH_SHARERS_H

#include "base/proc.h"

#include <stdbool.h>
#include <sys/types.h>

/* Lists those that there are just now, with a child of vfork; a process whose first thread has
 * ended is not found. Those that this process may not trace are not seen. SPROF_ENOMEM. */
int trace_sharers_find(pid_t pid, struct sprof_id_list *sharers);

/* Whether there is one. */
bool trace_has_sharer(pid_t pid);

/* Whether there has been one for a tenth of a second, and nobody waits for a child of vfork, which
 * is one for a while. */
bool trace_has_lasting_sharer(pid_t pid);

#endif
