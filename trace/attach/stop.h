/* A stop of all threads of a process, for milliseconds: to take code back, never to switch it. */
#ifndef SPROF_TRACE_ATTACH_STOP_H
#define SPROF_TRACE_ATTACH_STOP_H

#include "base/base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

struct trace_stopped {
    pid_t pid, tid; /* its process may be another one that has the same memory */
    bool is_stopped;
    bool changed;      /* the registers are to be set when it goes on */
    uint64_t restarts; /* the system call that restart_syscall(2) takes up; 0: none */
    int signal;        /* that it is about to take, and takes when it goes on; 0: none */
    struct user_regs_struct registers;
};

/* Zero is a valid stop of nobody. */
struct trace_stop {
    pid_t pid;
    bool has_lost_first; /* the process's first thread has ended, or seems to, within an exec */
    /* Whether other processes may have the same memory, which then stand, too: the caller says so
     * before, or the program as soon as one is about to begin. */
    bool has_sharers;
    const _Atomic uint32_t *notes_sharers; /* NULL: nobody notes it */
    struct sprof_urgency urgency;          /* while they stand */
    SPROF_VEC(struct trace_stopped) threads;
};

/* Stops the threads of a process, and those that they make meanwhile; also
 * those of processes that have the same memory, where it says that there may be some. Does `act`
 * then, in a thread of its own (trace_apart), and lets all go on. A system call
 * that is cut short only by that is made again. SPROF_EPERMISSION: somebody else traces it;
 * SPROF_ESTATE: a thread does not stop in time, as one does that waits for a child of vfork;
 * SPROF_ENOTFOUND: the process is gone. On failure nothing was done, and nobody is stopped. */
int trace_stop_while(struct trace_stop *stop, pid_t pid, void (*act)(void *context), void *context,
                     struct sprof_error *error);

/* Does something in a thread of its own, in which alone others' threads may be asked to stop. Who
 * was asked and does not stand by its end, because it waits in the kernel, would wait for ever
 * when it does: the kernel lets it go then, as where sprof ends. Returns what `act` does, or
 * SPROF_ELIMIT. */
int trace_apart(int (*act)(void *context), void *context, struct sprof_error *error);

/* Whether a thread waits in the kernel as for a disk or a child of vfork, or is frozen: it does not
 * stop, and the others would stand still until that is clear. */
bool trace_stop_would_wait(pid_t pid);
bool trace_thread_would_wait(pid_t pid, pid_t tid);

/* The kernel makes a call that was cut short again when its thread goes on, but not where the
 * registers are others by then: sets them to what makes it again. */
void trace_stop_restart(struct trace_stopped *thread);

/* Has a stopped thread be about to take no signal: where that is of a fault of the instruction that
 * it stands at, it is left out, and the thread faults again when it gets there again, also where
 * sprof ends now. False: it is another signal, and is taken. */
bool trace_stop_leave_out_fault(struct trace_stopped *thread, pid_t pid);

/* == One thread == */

/* Stops one thread alone, in a thread of trace_apart. SPROF_ESTATE: it does not stop in time;
 * SPROF_ENOTFOUND: it has ended. */
int trace_stop_thread(struct trace_stopped *thread, pid_t pid, pid_t tid,
                      struct sprof_error *error);
void trace_stop_release(struct trace_stopped *thread, pid_t pid);

enum trace_waited {
    TRACE_STOPPED,
    TRACE_GONE,
    TRACE_TIMED_OUT,
};

/* Waits until a thread that was let go with PTRACE_SYSCALL stands again; *status is as siginfo's
 * si_status, and is not taken note of by the kernel, so that a signal is not lost where sprof ends
 * now. */
enum trace_waited trace_stop_wait(pid_t pid, pid_t tid, long limit_ms, int *status);

#endif
