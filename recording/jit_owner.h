/* Whose code compiled at run time is, and the files that name it: held while the process lives, for
 * they are read when it, its namespaces and its files may have gone. */
#ifndef SPROF_RECORDING_JIT_OWNER_H
#define SPROF_RECORDING_JIT_OWNER_H

#include "base/base.h"
#include "symbolize/symbolize.h"

#include <stdbool.h>
#include <sys/types.h>

struct recording_jit_owner {
    uid_t uid;
    pid_t ns_pid;      /* in its own pid namespace */
    uint64_t start_ns; /* when the process began, CLOCK_REALTIME; 0 unknown */
    int64_t clock_ns;  /* its CLOCK_MONOTONIC is ahead of sprof's clock by so much */
    int map, dump;     /* descriptors of its perf map and its jitdump; -1: none found */
    struct symbolize_jit_growth *growth; /* of the perf map, the table's; NULL: none seen */
    size_t growth_count;
};

/* Owners by process number; zero is a valid empty table. */
struct recording_jit_owners {
    SPROF_VEC(struct recording_jit_owner) items;
    struct sprof_map by_pid; /* → position */
    uint64_t looked_ns;      /* at the lengths of their perf maps */
};

/* What /proc says of a process now; of one that is gone, this user and its number. No files. */
struct recording_jit_owner recording_jit_owner_read(pid_t pid);

/* Opens the perf map of a live process, or where `dump` is not NULL its file of that path, if that
 * is how its jitdump is called. The owner holds the descriptor. */
void recording_jit_owner_find(struct recording_jit_owner *owner, pid_t pid, const char *dump);

/* Notes which perf maps have grown, where the last look is some time ago or `at_once`, as at the end
 * of a recording. Returns 0 or SPROF_ENOMEM. */
int recording_jit_owners_look(struct recording_jit_owners *owners, bool at_once);

/* Whether the owner of a process was taken down. */
bool recording_jit_owners_has(const struct recording_jit_owners *owners, pid_t pid);

/* Takes down the owner of a process, and its descriptors in any case: of one that was taken down
 * already what is new. Returns 0 or SPROF_ENOMEM. */
int recording_jit_owners_note(struct recording_jit_owners *owners, pid_t pid,
                              const struct recording_jit_owner *owner);

/* What was taken down, or what /proc says now; for a process that is gone, this user and its
 * number. The descriptors stay the table's. NULL for `owners` means that nothing was taken down. */
struct recording_jit_owner recording_jit_owners_get(const struct recording_jit_owners *owners,
                                                    pid_t pid);

void recording_jit_owner_close(const struct recording_jit_owner *owner);
void recording_jit_owners_release(struct recording_jit_owners *owners);

#endif
