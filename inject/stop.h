/* A stop of all threads of a process, for milliseconds. */
#ifndef SPROF_INJECT_STOP_H
#define SPROF_INJECT_STOP_H

#include "arch/arch.h"
#include "base/base.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct inject_stopped {
    pid_t pid, tid; /* the process may be another one with the same memory */
    bool is_stopped;
    bool changed;      /* the registers are written when it goes on */
    uint64_t restarts; /* the system call that restart_syscall(2) takes up; 0: none */
    int signal;        /* that it takes when it goes on; 0: none */
    struct arch_remote registers;
};

/* Zero is a valid stop without threads. */
struct inject_stop {
    pid_t pid;
    bool has_lost_first; /* the first thread has ended, or seems to, during an exec */
    /* Other processes may have the same memory, and are stopped, too. The caller sets it, or the
     * program before the first one begins. */
    bool has_sharers;
    const _Atomic uint32_t *notes_sharers; /* NULL: it is not noted */
    struct sprof_urgency urgency;          /* while they stand */
    SPROF_VEC(struct inject_stopped) threads;
};

/* Stops the threads of a process, also those that they make meanwhile, and with has_sharers those
 * of processes with the same memory. Calls `act` in a thread of its own (inject_apart), and lets
 * all go on. System calls that were cut short only by this are made again. SPROF_EPERMISSION:
 * another process traces it; SPROF_ESTATE: a thread does not stop in time, as one that waits for a
 * child of vfork; SPROF_ENOTFOUND: the process is gone. After a failure nothing was done, and no
 * thread is stopped. */
int inject_stop_while(struct inject_stop *stop, pid_t pid, void (*act)(void *context),
                      void *context, struct sprof_error *error);

/* Acts in a thread of its own; only such a thread may ask threads of others to stop. One that was
 * asked and still waits in the kernel would stop later and stand for ever, but the kernel lets it
 * go when the asking thread ends. Returns what `act` returns, or SPROF_ELIMIT. */
int inject_apart(int (*act)(void *context), void *context, struct sprof_error *error);

/* Whether a thread waits in the kernel as for a disk or a child of vfork, or is frozen: it does not
 * stop, and the others would stand still meanwhile. */
bool inject_stop_would_wait(pid_t pid);
bool inject_thread_would_wait(pid_t pid, pid_t tid);

/* The kernel makes a call that was cut short again when its thread goes on, but not with other
 * registers: sets them to what makes it again. */
void inject_stop_restart(struct inject_stopped *thread);

/* Removes the signal that a stopped thread is about to take, where it is of a fault of the
 * instruction that it stands at: the thread faults again, even where sprof ends now. False: it is
 * another signal, and is taken. */
bool inject_stop_leave_out_fault(struct inject_stopped *thread, pid_t pid);

/* == One thread == */

/* Stops one thread, in a thread of inject_apart. SPROF_ESTATE: it does not stop in time;
 * SPROF_ENOTFOUND: it has ended. */
int inject_stop_thread(struct inject_stopped *thread, pid_t pid, pid_t tid,
                       struct sprof_error *error);
void inject_stop_release(struct inject_stopped *thread, pid_t pid);

enum inject_waited {
    INJECT_WAITED_STOPPED,
    INJECT_WAITED_GONE,
    INJECT_WAITED_TIMED_OUT,
};

/* Waits until a thread that was let go with PTRACE_SYSCALL stands again. *status is as siginfo's
 * si_status. The kernel keeps the stop, so no signal is lost where sprof ends now. */
enum inject_waited inject_stop_wait(pid_t pid, pid_t tid, long limit_ms, int *status);

#endif
