/* Processes that were there before sprof: those that recorded ones have started. */
#ifndef SPROF_CLI_PROCESS_TREE_H
#define SPROF_CLI_PROCESS_TREE_H

#include "cli/values.h"

/* Adds the living children of the listed processes, their children and so on; not sprof itself and
 * what it started. Returns 0 or SPROF_ENOMEM. */
int cli_add_descendants(struct cli_pids *pids);

/* Adds the living processes whose first thread has that name, as the kernel keeps it (15 bytes);
 * not sprof itself. Returns 0 or SPROF_ENOMEM. */
int cli_add_named(struct cli_pids *pids, const char *name);

/* Descendants with the CPU time that they had used at some moment. Zero is valid and empty. */
struct cli_descendant {
    pid_t pid;
    uint64_t cpu_ns;
};
struct cli_descendants {
    SPROF_VEC(struct cli_descendant) list;
};

/* Notes those of the listed processes. Without memory there are none. */
void cli_descendants_note(struct cli_descendants *descendants, const struct cli_pids *pids);

/* Keeps those that have worked since, and returns how long together, in nanoseconds. */
uint64_t cli_descendants_worked(struct cli_descendants *descendants);

void cli_descendants_release(struct cli_descendants *descendants);

#endif
