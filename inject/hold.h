/* Holds a command where its main begins, if it cannot preload the agent. */
#ifndef SPROF_INJECT_HOLD_H
#define SPROF_INJECT_HOLD_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_hold {
    pid_t pid;
    int fd;         /* sprof's end; the command resumes when it closes; or -1 */
    int command_fd; /* number in the command */
    bool is_ours;   /* open here, until the fork */
    uint64_t code;  /* address of the waiting code, or 0 */
    bool is_past;   /* the command skipped that code */
};

#define INJECT_HOLD_NONE ((struct inject_hold){.fd = -1, .command_fd = -1})

/* Why a program cannot be held, such as "has no room", or NULL. */
const char *inject_hold_obstacle(const char *path);

/* Call it before the fork, as the command inherits a descriptor. SPROF_ELIMIT. */
int inject_hold_open(struct inject_hold *hold, struct sprof_error *error);

/* Makes a child stop after its execve. SPROF_EPERMISSION. */
int inject_hold_seize(struct inject_hold *hold, pid_t pid, struct sprof_error *error);

/* Call it now and then until the execve, in the same thread. */
void inject_hold_pass_signals(void *hold);

/* Makes the program wait in front of main, after constructors and IFUNC resolvers, and ends
 * ptrace(2). It resumes unchanged when sprof releases it or ends. SPROF_EUNSUPPORTED: no main or no
 * room; it is stopped and has run nothing. SPROF_ESTATE: it did not come to main, and runs or has
 * ended. */
int inject_hold_at_main(struct inject_hold *hold, const char *name, struct sprof_error *error);

void inject_hold_release(struct inject_hold *hold);

#endif
