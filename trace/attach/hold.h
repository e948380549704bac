/* A command that waits where its main begins, so that it can be attached to as a process that runs:
 * for programs into which nothing can be preloaded. */
#ifndef SPROF_TRACE_ATTACH_HOLD_H
#define SPROF_TRACE_ATTACH_HOLD_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct trace_hold {
    pid_t pid;
    int fd;         /* ours: the command goes on when nobody has it open any more; -1 */
    int command_fd; /* what the command waits for, by the same number there, … */
    bool is_ours;   /* … and here, until it has been forked */
    uint64_t code;  /* at which it waits; 0: it was not led there */
    bool is_past;   /* it was, and did not wait */
};

#define TRACE_HOLD_NONE ((struct trace_hold){.fd = -1, .command_fd = -1})

/* Why a program of such a file cannot be held, as what it "has", as far as the file tells; NULL: it
 * can, or that is seen when it runs. */
const char *trace_hold_obstacle(const char *path);

/* To be called before the command is forked, which inherits a descriptor. SPROF_ELIMIT. */
int trace_hold_open(struct trace_hold *hold, struct sprof_error *error);

/* Has a child that is about to execute the command stop when it has. SPROF_EPERMISSION. */
int trace_hold_seize(struct trace_hold *hold, pid_t pid, struct sprof_error *error);

/* Lets it have the signals that come until then: to be called now and then, by the same thread. */
void trace_hold_pass_signals(void *hold);

/* Leads the program to a wait, in front of main, and waits until it has come there. All before that
 * has run then: constructors, resolvers of IFUNCs. No ptrace is needed any more. From then on it
 * goes on when trace_hold_release is called or this process ends, at whatever instant that is, as
 * if nothing had been: the descriptor is closed, and the registers are as a caller of main leaves
 * them. SPROF_EUNSUPPORTED: where main is cannot be told, or there is no room for what waits: it
 * stands still, having executed nothing. SPROF_ESTATE: it did not come to main, and runs or has
 * ended. */
int trace_hold_at_main(struct trace_hold *hold, const char *name, struct sprof_error *error);

/* Lets it go on, if it was held. */
void trace_hold_release(struct trace_hold *hold);

#endif
