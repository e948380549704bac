/* Internal: processes with the same memory. */
#ifndef SPROF_INJECT_SHARERS_H
#define SPROF_INJECT_SHARERS_H

#include "base/proc.h"

#include <stdbool.h>
#include <sys/types.h>

/* Lists them and vfork children. Omits one without a first thread, or that sprof may not trace.
 * SPROF_ENOMEM. */
int inject_sharers_find(pid_t pid, struct sprof_id_list *sharers);

/* A look at all processes takes milliseconds, so a stop begins with an earlier one. */
struct inject_sharers {
    struct sprof_id_list list;
    pid_t newest; /* number of the system's newest task before the look; 0: not known */
};

/* As above. Release with sprof_vec_release(&sharers->list), also on failure. */
int inject_sharers_look(pid_t pid, struct inject_sharers *sharers);

/* The same now, by a look at newer tasks alone. Complete for tasks whose creators stand. */
int inject_sharers_look_again(pid_t pid, struct inject_sharers *sharers);

bool inject_has_sharer(pid_t pid);

/* True: one has been there for a tenth of a second, and is no vfork child. */
bool inject_has_lasting_sharer(pid_t pid);

#endif
