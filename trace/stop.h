/* A stop of all threads of a process, for milliseconds: to take code back, never to switch it. */
#ifndef SPROF_TRACE_STOP_H
#define SPROF_TRACE_STOP_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

struct trace_stopped {
    pid_t tid;
    bool is_stopped;
    bool changed; /* the registers are to be set when it goes on */
    int signal;   /* that it is about to take, and takes when it goes on; 0: none */
    struct user_regs_struct registers;
};

/* Zero is a valid stop of nobody. */
struct trace_stop {
    pid_t pid;
    SPROF_VEC(struct trace_stopped) threads;
};

/* Stops the threads of a process, and those that they make meanwhile. A system call that is cut
 * short only by that is made again. SPROF_EPERMISSION: somebody else traces it; SPROF_ESTATE: a
 * thread does not stop in time, as one does that waits for a child of vfork; SPROF_ENOTFOUND: the
 * process is gone. On failure nobody is stopped. */
int trace_stop_begin(struct trace_stop *stop, pid_t pid, struct sprof_error *error);

/* The kernel makes a call that was cut short again when its thread goes on, but not where the
 * registers are others by then: sets them to what makes it again. */
void trace_stop_restart(struct trace_stopped *thread);

/* Lets all go on. */
void trace_stop_end(struct trace_stop *stop);

#endif
