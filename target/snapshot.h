/* Snapshots from inside the library. */
#ifndef SPROF_TARGET_SNAPSHOT_H
#define SPROF_TARGET_SNAPSHOT_H

#include "target/target.h"

/* Appends the executable mappings that the text of a /proc/PID/maps shows. Lines that cannot be
 * understood are passed over. Returns 0 or SPROF_ENOMEM. */
int target_snapshot_maps(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns, char *maps);

/* Appends the executable mappings that a process has now; none where it has ended. */
int target_snapshot_mappings(struct target_snapshot *snapshot, pid_t pid, uint64_t time_ns);

/* Copies a name for target_snapshot_push. */
const char *target_snapshot_name(struct target_snapshot *snapshot, const char *name);

#endif
