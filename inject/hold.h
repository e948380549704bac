/* A held command waits where its main begins, so that it can be attached to: for programs into
 * which nothing can be preloaded. */
#ifndef SPROF_INJECT_HOLD_H
#define SPROF_INJECT_HOLD_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_hold {
    pid_t pid;
    int fd;         /* sprof's end: the command goes on when it is closed everywhere; -1 */
    int command_fd; /* the command's end, with that number there */
    bool is_ours;   /* it is open here, until the fork */
    uint64_t code;  /* address of the waiting code; 0: the command was not led there */
    bool is_past;   /* it was led there, and did not wait */
};

#define INJECT_HOLD_NONE ((struct inject_hold){.fd = -1, .command_fd = -1})

/* Why a program of such a file cannot be held ("has …"), as far as the file shows; NULL: it may. */
const char *inject_hold_obstacle(const char *path);

/* To be called before the fork, because the command inherits a descriptor. SPROF_ELIMIT. */
int inject_hold_open(struct inject_hold *hold, struct sprof_error *error);

/* Has a child that is about to execute the command stop afterwards. SPROF_EPERMISSION. */
int inject_hold_seize(struct inject_hold *hold, pid_t pid, struct sprof_error *error);

/* Passes signals on until then: to be called now and then, by the same thread. */
void inject_hold_pass_signals(void *hold);

/* Leads the program to a wait in front of main, and waits until it is there. Constructors and
 * resolvers of IFUNCs have run then, and ptrace has ended. The program goes on when
 * inject_hold_release is called or this process ends, at whatever moment, as if nothing had been:
 * the descriptor is closed, and registers are as a caller of main leaves them. SPROF_EUNSUPPORTED:
 * main is not found, or there is no room for the code; the program stands still and has run
 * nothing. SPROF_ESTATE: it did not come to main, and runs or has ended. */
int inject_hold_at_main(struct inject_hold *hold, const char *name, struct sprof_error *error);

/* Lets it go on, if it was held. */
void inject_hold_release(struct inject_hold *hold);

#endif
