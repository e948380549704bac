/* Stops all threads of a process by ptrace(2), and lets them go on as if nothing had been. */
#include "trace/stop.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 500, /* for one thread to stop */
    RESTART_SYS =
        512, /* the kernel's codes of calls that it makes again by itself: ERESTARTSYS … */
    RESTART_NOINTR = 513,
    RESTART_NOHAND = 514,
    RESTART_BLOCK = 516,
    SYSCALL_BYTES = 2,
};

static void pause_us(long microseconds)
{
    const struct timespec time = {.tv_nsec = microseconds * 1000};
    nanosleep(&time, NULL);
}

/* What becomes of the process is for others to learn: its end is not taken note of here. That of
 * its other threads must be, or they would stay. A stop is not taken note of either: where sprof
 * ends, the kernel gives the thread the signal that it was stopped for only then. */
enum trace_waited trace_stop_wait(pid_t pid, pid_t tid, long limit_ms, int *status)
{
    const int exits = tid == pid ? 0 : WEXITED, options = WSTOPPED | WNOHANG | WNOWAIT | __WALL;
    for (long tries = 0; limit_ms < 0 || tries < limit_ms * 10; tries++) {
        siginfo_t event = {0};
        if (waitid(P_PID, (id_t)tid, &event, options | exits)) {
            if (errno != EINTR)
                return TRACE_GONE;
        } else if (event.si_pid == tid) {
            if (event.si_code != CLD_TRAPPED && event.si_code != CLD_STOPPED) {
                waitid(P_PID, (id_t)tid, &event, WNOHANG | __WALL | exits);
                return TRACE_GONE;
            }
            *status = event.si_status;
            return TRACE_STOPPED;
        }
        if (tries < 50)
            sched_yield();
        else
            pause_us(tries < 100 ? 20 : 100);
    }
    return TRACE_TIMED_OUT;
}

/* Waits until a thread is in a stop. `*number`: the signal that it is about to take; 0: none. */
static enum trace_waited wait_for_stop(pid_t pid, pid_t tid, long limit_ms, int *number)
{
    int status = 0;
    const enum trace_waited waited = trace_stop_wait(pid, tid, limit_ms, &status);
    /* The signal, with a ptrace event above it. */
    *number = waited != TRACE_STOPPED || status >> 8 || status == SIGTRAP ? 0 : status;
    return waited;
}

/* Whether it still runs; one that has ended and waits for the others does not. */
static bool is_alive(pid_t pid, pid_t tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *stat = fopen(path, "re");
    const char *end = stat && fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL;
    if (stat)
        fclose(stat);
    return end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* == Calls that were cut short == */

static uint64_t status_mask(const char *line, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(line, name, length) ? 0 : strtoull(line + length, NULL, 16);
}

/* Signals that wait and that the thread does not block: its own, and of the process. */
static uint64_t waiting_signals(pid_t pid, pid_t tid, uint64_t *own)
{
    char path[64], line[256];
    uint64_t shared = 0, blocked = 0;
    *own = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        *own |= status_mask(line, "SigPnd:");
        shared |= status_mask(line, "ShdPnd:");
        blocked |= status_mask(line, "SigBlk:");
    }
    if (status)
        fclose(status);
    *own &= ~blocked;
    return (*own | shared) & ~blocked;
}

static bool has_signal(pid_t pid, pid_t tid)
{
    uint64_t own;
    return waiting_signals(pid, tid, &own);
}

bool trace_stop_has_fault(pid_t pid, pid_t tid)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    uint64_t own, mask = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        mask |= UINT64_C(1) << (faults[i] - 1);
    waiting_signals(pid, tid, &own);
    return own & mask;
}

/* Calls that end with EINTR whenever their thread is stopped, see signal(7). They have done nothing
 * then, and may be made again. */
static bool ends_when_stopped(uint64_t number)
{
    static const long numbers[] = {
        SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_semop,   SYS_semtimedop,
        SYS_msgrcv,     SYS_msgsnd,      SYS_io_getevents, SYS_read,    SYS_readv,
        SYS_recvfrom,   SYS_recvmsg,     SYS_recvmmsg,     SYS_accept,  SYS_accept4,
        SYS_write,      SYS_writev,      SYS_sendto,       SYS_sendmsg, SYS_rt_sigtimedwait,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if ((uint64_t)numbers[i] == number)
            return true;
    return false;
}

static void repair(pid_t pid, struct trace_stopped *thread)
{
    struct user_regs_struct *registers = &thread->registers;
    if (thread->signal || (int64_t)registers->orig_rax < 0 || (int64_t)registers->rax != -EINTR ||
        !ends_when_stopped(registers->orig_rax) || has_signal(pid, thread->tid))
        return;
    registers->rax = registers->orig_rax;
    registers->rip -= SYSCALL_BYTES;
    registers->orig_rax = UINT64_MAX;
    /* At once: sprof may end within the stop. */
    thread->changed = ptrace(PTRACE_SETREGS, thread->tid, NULL, registers) != 0;
}

void trace_stop_restart(struct trace_stopped *thread)
{
    struct user_regs_struct *registers = &thread->registers;
    if ((int64_t)registers->orig_rax < 0)
        return;
    switch (-(int64_t)registers->rax) {
    case RESTART_BLOCK:
        thread->restarts = registers->orig_rax;
        registers->rax = SYS_restart_syscall;
        break;
    case RESTART_SYS:
    case RESTART_NOINTR:
    case RESTART_NOHAND: registers->rax = registers->orig_rax; break;
    default: return;
    }
    registers->rip -= SYSCALL_BYTES;
    registers->orig_rax = UINT64_MAX;
    thread->changed = true;
}

/* == Stopping == */

static bool is_known(const struct trace_stop *stop, pid_t tid)
{
    for (size_t i = 0; i < stop->threads.count; i++)
        if (stop->threads.items[i].tid == tid)
            return true;
    return false;
}

/* 1: asked to stop; 0: it has ended; else a negative code. */
static int ask_to_stop(struct trace_stop *stop, pid_t tid, struct sprof_error *error)
{
    const struct trace_stopped thread = {.tid = tid};
    if (sprof_vec_reserve(&stop->threads, stop->threads.count + 1))
        return sprof_error_memory(error);
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        if (errno == ESRCH || !is_alive(stop->pid, tid))
            return 0;
        return sprof_error_set(error, SPROF_EPERMISSION, errno,
                               "process %d cannot be stopped: %s; does a debugger or strace trace "
                               "it? (see /proc/%d/status, TracerPid, and "
                               "/proc/sys/kernel/yama/ptrace_scope)",
                               (int)stop->pid, strerror(errno), (int)stop->pid);
    }
    stop->threads.items[stop->threads.count++] = thread;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return 1;
}

/* A thread that was killed while it stood stays, and its process with it, until that is taken note
 * of. */
static void take_note_of_end(struct trace_stop *stop, struct trace_stopped *thread)
{
    if (thread->tid != stop->pid)
        wait_for_stop(stop->pid, thread->tid, WAIT_MS, &thread->signal);
}

/* All that have been asked. */
static int wait_for_all(struct trace_stop *stop, struct sprof_error *error)
{
    size_t kept = 0;
    int result = 0;
    for (size_t i = 0; i < stop->threads.count; i++) {
        struct trace_stopped *thread = &stop->threads.items[i];
        if (!thread->is_stopped && !result) {
            const enum trace_waited waited =
                wait_for_stop(stop->pid, thread->tid, WAIT_MS, &thread->signal);
            if (waited == TRACE_TIMED_OUT)
                result = sprof_error_set(error, SPROF_ESTATE, 0,
                                         "thread %d does not stop: it waits in the kernel, as for "
                                         "a child of vfork",
                                         (int)thread->tid);
            else if (waited == TRACE_GONE)
                continue;
            else if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers)) {
                take_note_of_end(stop, thread);
                continue;
            }
            thread->is_stopped = waited == TRACE_STOPPED;
            if (thread->is_stopped)
                repair(stop->pid, thread);
        }
        stop->threads.items[kept++] = *thread;
    }
    stop->threads.count = kept;
    return result;
}

/* All threads that are there now. Returns how many were not stopped before, or a negative code. */
static int stop_threads(struct trace_stop *stop, struct sprof_error *error)
{
    char path[64];
    int added = 0, result = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)stop->pid);
    DIR *directory = opendir(path);
    if (!directory)
        return sprof_error_set(error, SPROF_ENOTFOUND, errno, "process %d is gone", (int)stop->pid);
    for (struct dirent *entry; result >= 0 && (entry = readdir(directory));) {
        const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || is_known(stop, tid))
            continue;
        result = ask_to_stop(stop, tid, error);
        added += result > 0;
    }
    closedir(directory);
    if (result >= 0)
        result = wait_for_all(stop, error);
    return result < 0 ? result : added;
}

bool trace_stop_would_wait(pid_t pid)
{
    struct sprof_id_list threads = {0};
    bool would_wait = sprof_proc_threads(pid, &threads) != 0;
    for (size_t i = 0; i < threads.count && !would_wait; i++) {
        struct sprof_proc_stat stat;
        would_wait = sprof_proc_stat_read(threads.items[i], &stat) && stat.state == 'D';
    }
    sprof_vec_release(&threads);
    return would_wait;
}

int trace_stop_begin(struct trace_stop *stop, pid_t pid, struct sprof_error *error)
{
    int added;
    stop->pid = pid;
    stop->threads.count = 0;
    do
        added = stop_threads(stop, error);
    while (added > 0);
    if (added >= 0 && !stop->threads.count)
        added =
            sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has no thread left", (int)pid);
    if (added < 0)
        trace_stop_end(stop);
    return added < 0 ? added : 0;
}

/* One that has been asked to stop and has not yet would wait for ever when it does. */
static void let_go(struct trace_stop *stop, struct trace_stopped *thread)
{
    if (!thread->is_stopped &&
        wait_for_stop(stop->pid, thread->tid, -1, &thread->signal) != TRACE_STOPPED)
        return;
    if (thread->changed)
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &thread->registers);
    if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal))
        take_note_of_end(stop, thread);
}

void trace_stop_end(struct trace_stop *stop)
{
    /* Those that stand first: one that is waited for may wait for them. */
    for (size_t i = 0; i < stop->threads.count; i++)
        if (stop->threads.items[i].is_stopped)
            let_go(stop, &stop->threads.items[i]);
    for (size_t i = 0; i < stop->threads.count; i++)
        if (!stop->threads.items[i].is_stopped)
            let_go(stop, &stop->threads.items[i]);
    sprof_vec_release(&stop->threads);
}

/* == One thread == */

int trace_stop_thread(struct trace_stopped *thread, pid_t pid, pid_t tid, struct sprof_error *error)
{
    struct trace_stop stop = {.pid = pid};
    int result = ask_to_stop(&stop, tid, error);
    if (!result)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0, "thread %d has ended", (int)tid);
    if (result > 0)
        result = wait_for_all(&stop, error);
    if (!result && !stop.threads.count)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0, "thread %d has ended", (int)tid);
    if (!result) {
        *thread = *stop.threads.items;
        sprof_vec_release(&stop.threads);
    } else {
        trace_stop_end(&stop);
    }
    return result;
}

void trace_stop_release(struct trace_stopped *thread, pid_t pid)
{
    struct trace_stop stop = {.pid = pid};
    let_go(&stop, thread);
}
