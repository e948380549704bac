/* inject, inside: processes that share the memory of another one. */
#ifndef SPROF_INJECT_SHARERS_H
#define SPROF_INJECT_SHARERS_H

#include "base/proc.h"

#include <stdbool.h>
#include <sys/types.h>

/* Lists those of this moment, with a child of vfork. A process whose first thread has ended is not
 * found, nor one that this process may not trace. SPROF_ENOMEM. */
int inject_sharers_find(pid_t pid, struct sprof_id_list *sharers);

/* Whether there is one. */
bool inject_has_sharer(pid_t pid);

/* Whether there has been one for a tenth of a second, and no thread waits for a child of vfork,
 * which shares it for a while. */
bool inject_has_lasting_sharer(pid_t pid);

#endif
