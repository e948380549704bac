/* Stops all threads of a process for milliseconds. */
#ifndef SPROF_INJECT_STOP_H
#define SPROF_INJECT_STOP_H

#include "arch/arch.h"
#include "base/base.h"
#include "inject/sharers.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct inject_stopped {
    pid_t pid, tid; /* pid may be another with the same memory */
    bool is_stopped;
    bool changed;      /* registers must be written */
    uint64_t restarts; /* system call that restart_syscall(2) continues, or 0 */
    int signal;        /* to be delivered; 0: none */
    struct arch_remote registers;
};

/* Zero is valid. */
struct inject_stop {
    pid_t pid;
    bool has_lost_first; /* it has ended, or seems so during an exec */
    /* Also stop processes with the same memory: set by the caller, or below by the program before
     * the first of them begins. */
    bool has_sharers;
    const _Atomic uint32_t *notes_sharers; /* sharing.has_processes of the shared memory, or NULL */
    uint64_t longest_ns; /* of the stops so far, from the first request to the last release */
    uint64_t begin_ns;
    struct inject_sharers sharers;
    struct sprof_urgency urgency;
    SPROF_VEC(struct inject_stopped) threads;
};

/* Stops all threads, also new ones, and with has_sharers those of processes with the same memory.
 * Calls `act` in a thread of inject_apart, and resumes them. Interrupted system calls are repeated.
 * SPROF_EPERMISSION: another process traces it; SPROF_ESTATE: a thread does not stop, such as a
 * vfork parent; SPROF_ENOTFOUND: the process is gone. After a failure nothing was done, and no
 * thread is stopped. */
int inject_stop_while(struct inject_stop *stop, pid_t pid, void (*act)(void *context),
                      void *context, struct sprof_error *error);

/* Raises *longest_ns to that of the stop. */
void inject_stop_note(const struct inject_stop *stop, uint64_t *longest_ns);

/* Runs `act` in a new thread. Returns its result, or SPROF_ELIMIT. Only such a thread may stop
 * others: at its end the kernel releases those that stop too late. */
int inject_apart(int (*act)(void *context), void *context, struct sprof_error *error);

/* True: a thread waits in the kernel, as for a disk or a vfork child, or is frozen. */
bool inject_stop_would_wait(pid_t pid);
bool inject_thread_would_wait(pid_t pid, pid_t tid);

/* Makes the thread repeat an interrupted system call, although sprof changes its registers. */
void inject_stop_restart(struct inject_stopped *thread);

/* Drops the signal of a fault that the thread will repeat. False: it has another signal. */
bool inject_stop_leave_out_fault(struct inject_stopped *thread, pid_t pid);

/* == One thread == */

/* Call it in a thread of inject_apart. SPROF_ESTATE: no stop in time; SPROF_ENOTFOUND: the thread
 * has ended. */
int inject_stop_thread(struct inject_stopped *thread, pid_t pid, pid_t tid,
                       struct sprof_error *error);
void inject_stop_release(struct inject_stopped *thread, pid_t pid);

enum inject_waited {
    INJECT_WAITED_STOPPED,
    INJECT_WAITED_GONE,
    INJECT_WAITED_TIMED_OUT,
};

/* Waits for a stop; limit_ms < 0: no limit. *status: si_status of waitid(2). No signal is lost if
 * sprof dies. */
enum inject_waited inject_stop_wait(pid_t pid, pid_t tid, long limit_ms, int *status);

#endif
