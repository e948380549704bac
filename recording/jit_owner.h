/* Whose code compiled at run time is: what the name and the owner of a perf map depend on, taken
 * down while the process lives, for its map is read when it may have ended. */
#ifndef SPROF_RECORDING_JIT_OWNER_H
#define SPROF_RECORDING_JIT_OWNER_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct recording_jit_owner {
    uid_t uid;
    pid_t ns_pid; /* in its own pid namespace */
};

/* Owners by process number; zero is a valid empty table. */
struct recording_jit_owners {
    struct sprof_map by_pid;
};

/* What /proc says of a process now; of one that is gone, this user and its number. */
struct recording_jit_owner recording_jit_owner_read(pid_t pid);

/* Whether the owner of a process was taken down. */
bool recording_jit_owners_has(const struct recording_jit_owners *owners, pid_t pid);

/* Takes down the owner of a process. Returns 0 or SPROF_ENOMEM. */
int recording_jit_owners_note(struct recording_jit_owners *owners, pid_t pid,
                              struct recording_jit_owner owner);

/* What was taken down, or what /proc says now; for a process that is gone, this user and its
 * number. NULL for `owners` means that nothing was taken down. */
struct recording_jit_owner recording_jit_owners_get(const struct recording_jit_owners *owners,
                                                    pid_t pid);

void recording_jit_owners_release(struct recording_jit_owners *owners);

#endif
