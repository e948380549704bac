/* Stops and resumes threads by ptrace(2). */
#include "inject/stop.h"
#include "base/compat.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
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
    BRIEF_MS = 50, /* the same, if it waits in the kernel */
    LATE_MS = 1,   /* after another thread failed */
    END_MS = 20,   /* for all late threads at the end */
    APART_BYTES = 1 << 20,
    LOOK_TRIES = 10,   /* between two checks of the first thread */
    RESTART_SYS = 512, /* ERESTARTSYS and its relatives */
    RESTART_NOINTR = 513,
    RESTART_NOHAND = 514,
    RESTART_BLOCK = 516,
};

static void pause_us(long microseconds)
{
    const struct timespec time = {.tv_nsec = microseconds * 1000};
    nanosleep(&time, NULL);
}

/* False for a zombie, too. */
static bool is_alive(pid_t pid, pid_t tid)
{
    struct sprof_proc_stat stat;
    return sprof_proc_thread_stat_read(pid, tid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

/* Leaves the end of the process to other waiters, but reaps its threads. The kernel reports the
 * first thread's end last, so /proc is read. A reaped stop would lose its signal if sprof died. */
enum inject_waited inject_stop_wait(pid_t pid, pid_t tid, long limit_ms, int *status)
{
    const int exits = tid == pid ? 0 : WEXITED, options = WSTOPPED | WNOHANG | WNOWAIT | __WALL;
    /* a real-time thread yields to no other */
    const bool may_yield = sched_getscheduler(0) == SCHED_OTHER;
    for (long tries = 0; limit_ms < 0 || tries < limit_ms * 10; tries++) {
        siginfo_t event = {0};
        if (waitid(P_PID, (id_t)tid, &event, options | exits)) {
            if (errno != EINTR)
                return INJECT_WAITED_GONE;
        } else if (event.si_pid == tid) {
            if (event.si_code != CLD_TRAPPED && event.si_code != CLD_STOPPED) {
                waitid(P_PID, (id_t)tid, &event, WNOHANG | __WALL | exits);
                return INJECT_WAITED_GONE;
            }
            *status = event.si_status;
            return INJECT_WAITED_STOPPED;
        }
        if (tid == pid && tries % LOOK_TRIES == LOOK_TRIES - 1 && !is_alive(pid, tid))
            return INJECT_WAITED_GONE;
        if (tries < 50 && may_yield)
            sched_yield();
        else
            pause_us(tries < 100 ? 20 : 100);
    }
    return INJECT_WAITED_TIMED_OUT;
}

/* *number: the signal about to be delivered, or 0. */
static enum inject_waited wait_for_stop(pid_t pid, pid_t tid, long limit_ms, int *number)
{
    int status = 0;
    const enum inject_waited waited = inject_stop_wait(pid, tid, limit_ms, &status);
    /* from bit 8: a ptrace event */
    *number = waited != INJECT_WAITED_STOPPED || status >> 8 || status == SIGTRAP ? 0 : status;
    return waited;
}

/* == Calls that were cut short == */

static uint64_t status_mask(const char *line, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(line, name, length) ? 0 : strtoull(line + length, NULL, 16);
}

static uint64_t waiting_signals(pid_t pid, pid_t tid)
{
    char path[64], line[256];
    uint64_t own = 0, blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        own |= status_mask(line, "SigPnd:");
        blocked |= status_mask(line, "SigBlk:");
    }
    if (status)
        fclose(status);
    return own & ~blocked;
}

static bool has_fault(pid_t pid, pid_t tid)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        mask |= UINT64_C(1) << (faults[i] - 1);
    return waiting_signals(pid, tid) & mask;
}

/* False: the signal comes from a system call, a process or sigreturn(2), or another thread found
 * broken memory. */
static bool faults_again(const struct inject_stopped *thread, const siginfo_t *info)
{
    if (info->si_signo != thread->signal || info->si_code <= 0 || info->si_code == SI_KERNEL ||
        arch_remote_call_number(&thread->registers) >= 0)
        return false;
    switch (thread->signal) {
    case SIGSEGV:
    case SIGFPE:
    case SIGILL: return true;
    case SIGBUS: return info->si_code == BUS_ADRALN || info->si_code == BUS_ADRERR;
    default: return false;
    }
}

/* Resumes the thread up to its signal, before any instruction. */
static bool take_up(struct inject_stopped *thread, pid_t pid)
{
    thread->is_stopped =
        !ptrace(PTRACE_CONT, thread->tid, NULL, NULL) &&
        wait_for_stop(pid, thread->tid, WAIT_MS, &thread->signal) == INJECT_WAITED_STOPPED;
    if (!thread->is_stopped)
        ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
    return thread->is_stopped;
}

bool inject_stop_leave_out_fault(struct inject_stopped *thread, pid_t pid)
{
    siginfo_t info, event;
    if (!thread->signal && !has_fault(pid, thread->tid))
        return true;
    if (!thread->signal && !take_up(thread, pid))
        return false;
    if (ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) || !faults_again(thread, &info))
        return false;
    /* reaped, the signal is lost if sprof dies */
    if (waitid(P_PID, (id_t)thread->tid, &event, WSTOPPED | WNOHANG | __WALL))
        return false;
    thread->signal = 0;
    return true;
}

/* Calls that a stop ends with EINTR, without effect: signal(7). */
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

/* The kernel decides later: only a signal with a handler ends the call. */
static void repair(struct inject_stopped *thread)
{
    const int64_t number = arch_remote_call_number(&thread->registers);
    if (number < 0 || arch_remote_result(&thread->registers) != -EINTR ||
        !ends_when_stopped((uint64_t)number))
        return;
    arch_remote_set_result(&thread->registers, -RESTART_NOHAND);
    /* now, as sprof may die */
    thread->changed = !arch_remote_write(thread->tid, &thread->registers);
}

void inject_stop_restart(struct inject_stopped *thread)
{
    const int64_t number = arch_remote_call_number(&thread->registers);
    if (number < 0)
        return;
    switch (-arch_remote_result(&thread->registers)) {
    case RESTART_BLOCK:
        thread->restarts = (uint64_t)number;
        arch_remote_repeat_call(&thread->registers, SYS_restart_syscall);
        break;
    case RESTART_SYS:
    case RESTART_NOINTR:
    case RESTART_NOHAND: arch_remote_repeat_call(&thread->registers, (uint64_t)number); break;
    default: return;
    }
    thread->changed = true;
}

/* == Stopping == */

bool inject_thread_would_wait(pid_t pid, pid_t tid)
{
    struct sprof_proc_stat stat;
    return sprof_proc_thread_stat_read(pid, tid, &stat) && stat.state == 'D';
}

static bool is_known(const struct inject_stop *stop, pid_t tid)
{
    for (size_t i = 0; i < stop->threads.count; i++)
        if (stop->threads.items[i].tid == tid)
            return true;
    return false;
}

/* 1: asked; 0: the thread has ended; or a negative code. */
static int ask_to_stop(struct inject_stop *stop, pid_t pid, pid_t tid, struct sprof_error *error)
{
    const struct inject_stopped thread = {.pid = pid, .tid = tid};
    if (sprof_vec_reserve(&stop->threads, stop->threads.count + 1))
        return sprof_error_memory(error);
    const int errnum = ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? errno : 0;
    /* a zombie that sprof traces would accept PTRACE_INTERRUPT, and never stop */
    if (errnum && (errnum == ESRCH || !is_alive(pid, tid)))
        return 0;
    /* it may still be seized from before */
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && errnum)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "process %d cannot be stopped: %s; does a debugger or strace trace "
                               "it? (see /proc/%d/status, TracerPid, and "
                               "/proc/sys/kernel/yama/ptrace_scope)",
                               (int)stop->pid, strerror(errnum), (int)stop->pid);
    stop->threads.items[stop->threads.count++] = thread;
    return 1;
}

/* Unreaped, it would keep its process. */
static void take_note_of_end(const struct inject_stop *stop, struct inject_stopped *thread)
{
    if (thread->tid != stop->pid)
        wait_for_stop(stop->pid, thread->tid, WAIT_MS, &thread->signal);
}

static bool comes_to_stand(const struct inject_stop *stop, struct inject_stopped *thread,
                           long limit_ms, bool *ended)
{
    const enum inject_waited waited =
        wait_for_stop(stop->pid, thread->tid, limit_ms, &thread->signal);
    *ended = waited == INJECT_WAITED_GONE;
    if (waited == INJECT_WAITED_STOPPED && !arch_remote_read(thread->tid, &thread->registers)) {
        take_note_of_end(stop, thread);
        *ended = true;
    }
    thread->is_stopped = waited == INJECT_WAITED_STOPPED && !*ended;
    if (thread->is_stopped)
        repair(thread);
    return thread->is_stopped || *ended;
}

/* Gives up early on a long wait, as other threads stand still. */
static bool comes_in_time(const struct inject_stop *stop, struct inject_stopped *thread,
                          bool *ended)
{
    return comes_to_stand(stop, thread, BRIEF_MS, ended) ||
           (!inject_thread_would_wait(thread->pid, thread->tid) &&
            comes_to_stand(stop, thread, WAIT_MS - BRIEF_MS, ended));
}

/* `result` < 0: only for those already stopped. */
static int wait_for_all(struct inject_stop *stop, int result, struct sprof_error *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < stop->threads.count; i++) {
        struct inject_stopped *thread = &stop->threads.items[i];
        bool ended = false;
        if (!thread->is_stopped &&
            !(result < 0 ? comes_to_stand(stop, thread, LATE_MS, &ended)
                         : comes_in_time(stop, thread, &ended)) &&
            result >= 0)
            result = sprof_error_set(error, SPROF_ESTATE, 0,
                                     "thread %d does not stop: it waits in the kernel, as for "
                                     "a child of vfork, or is frozen (cgroup)",
                                     (int)thread->tid);
        if (!ended)
            stop->threads.items[kept++] = *thread;
        stop->has_lost_first |= ended && thread->tid == stop->pid;
    }
    stop->threads.count = kept;
    return result;
}

/* Returns the number of new threads, or a negative code. */
static int ask_process(struct inject_stop *stop, pid_t pid, struct sprof_error *error)
{
    char path[64];
    int added = 0, result = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return pid == stop->pid
                   ? sprof_error_set(error, SPROF_ENOTFOUND, errno, "process %d has ended", (int)pid)
                   : 0;
    for (struct dirent *entry; result >= 0 && (entry = readdir(directory));) {
        const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || is_known(stop, tid))
            continue;
        result = ask_to_stop(stop, pid, tid, error);
        added += result > 0;
    }
    closedir(directory);
    return result < 0 ? result : added;
}

static bool may_have_sharers(const struct inject_stop *stop)
{
    return stop->has_sharers || (stop->notes_sharers && atomic_load(stop->notes_sharers));
}

static int ask_sharers(struct inject_stop *stop, struct sprof_error *error)
{
    const struct sprof_id_list *sharers = &stop->sharers.list;
    int added = 0, result = inject_sharers_look_again(stop->pid, &stop->sharers);
    if (result)
        result = sprof_error_memory(error);
    for (size_t i = 0; i < sharers->count && result >= 0; i++) {
        result = ask_process(stop, sharers->items[i], error);
        added += result > 0 ? result : 0;
    }
    return result < 0 ? result : added;
}

static int stop_threads(struct inject_stop *stop, struct sprof_error *error)
{
    const int of_process = ask_process(stop, stop->pid, error);
    const int of_sharers = of_process >= 0 && may_have_sharers(stop) ? ask_sharers(stop, error) : 0;
    const int result = wait_for_all(stop, of_process < 0 ? of_process : of_sharers, error);
    return result < 0 ? result : of_process + of_sharers;
}

bool inject_stop_would_wait(pid_t pid)
{
    struct sprof_id_list threads = {0};
    bool would_wait = sprof_proc_threads(pid, &threads) != 0;
    for (size_t i = 0; i < threads.count && !would_wait; i++)
        would_wait = inject_thread_would_wait(pid, threads.items[i]);
    sprof_vec_release(&threads);
    return would_wait;
}

static void end(struct inject_stop *stop);

static int begin(struct inject_stop *stop, pid_t pid, struct sprof_error *error)
{
    int added;
    stop->pid = pid;
    stop->threads.count = 0;
    stop->has_lost_first = false;
    stop->sharers = (struct inject_sharers){0};
    if (may_have_sharers(stop) && inject_sharers_look(pid, &stop->sharers))
        stop->sharers.newest = 0;
    sprof_urgency_raise_most(&stop->urgency);
    stop->begin_ns = sprof_clock_monotonic_ns();
    do
        added = stop_threads(stop, error);
    while (added > 0);
    if (added >= 0 && !stop->threads.count)
        added =
            sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has no thread left", (int)pid);
    if (added < 0)
        end(stop);
    return added < 0 ? added : 0;
}

/* A thread that stopped after this would stand for ever. False: not stopped yet. */
static bool let_go(const struct inject_stop *stop, struct inject_stopped *thread, long limit_ms)
{
    bool ended = false;
    if (!thread->is_stopped && !comes_to_stand(stop, thread, limit_ms, &ended))
        return false;
    if (!ended && thread->changed)
        arch_remote_write(thread->tid, &thread->registers);
    if (!ended && ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal))
        take_note_of_end(stop, thread);
    return true;
}

/* An exec by another thread revives the first one. */
static void let_go_of_first(const struct inject_stop *stop, uint64_t until_ns)
{
    struct inject_stopped first = {.pid = stop->pid, .tid = stop->pid};
    while (is_alive(stop->pid, stop->pid) && !let_go(stop, &first, LATE_MS) &&
           sprof_clock_monotonic_ns() < until_ns)
        ;
}

/* A thread may wait for another to resume. */
static void end(struct inject_stop *stop)
{
    const uint64_t until_ns = sprof_clock_monotonic_ns() + END_MS * UINT64_C(1000000);
    for (size_t left = stop->threads.count, kept; left; left = kept) {
        kept = 0;
        for (size_t i = 0; i < left; i++)
            if (!let_go(stop, &stop->threads.items[i], LATE_MS))
                stop->threads.items[kept++] = stop->threads.items[i];
        if (sprof_clock_monotonic_ns() > until_ns)
            break;
    }
    if (stop->has_lost_first)
        let_go_of_first(stop, until_ns);
    const uint64_t took_ns = sprof_clock_monotonic_ns() - stop->begin_ns;
    stop->longest_ns = took_ns > stop->longest_ns ? took_ns : stop->longest_ns;
    sprof_vec_release(&stop->threads);
    sprof_vec_release(&stop->sharers.list);
    sprof_urgency_restore(&stop->urgency);
}

void inject_stop_note(const struct inject_stop *stop, uint64_t *longest_ns)
{
    *longest_ns = stop->longest_ns > *longest_ns ? stop->longest_ns : *longest_ns;
}

/* == In a thread of its own == */

struct apart {
    int (*act)(void *context);
    void *context;
    int result;
};

static void *run_apart(void *argument)
{
    struct apart *apart = argument;
    apart->result = apart->act(apart->context);
    return NULL;
}

int inject_apart(int (*act)(void *context), void *context, struct sprof_error *error)
{
    struct apart apart = {.act = act, .context = context};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, APART_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, &attributes, run_apart, &apart);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed)
        return sprof_error_set(error, SPROF_ELIMIT, failed,
                               "cannot make a thread: %s; see `ulimit -u`", strerror(failed));
    pthread_join(thread, NULL);
    return apart.result;
}

struct stopping {
    struct inject_stop *stop;
    pid_t pid;
    void (*act)(void *context);
    void *context;
    struct sprof_error *error;
};

static int stop_and_act(void *context)
{
    const struct stopping *stopping = context;
    const int result = begin(stopping->stop, stopping->pid, stopping->error);
    if (result)
        return result;
    stopping->act(stopping->context);
    end(stopping->stop);
    return 0;
}

int inject_stop_while(struct inject_stop *stop, pid_t pid, void (*act)(void *context),
                      void *context, struct sprof_error *error)
{
    struct stopping stopping = {stop, pid, act, context, error};
    return inject_apart(stop_and_act, &stopping, error);
}

/* == One thread == */

int inject_stop_thread(struct inject_stopped *thread, pid_t pid, pid_t tid,
                       struct sprof_error *error)
{
    struct inject_stop stop = {.pid = pid};
    int result = ask_to_stop(&stop, pid, tid, error);
    if (!result)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0, "thread %d has ended", (int)tid);
    if (result > 0)
        result = wait_for_all(&stop, 0, error);
    if (!result && !stop.threads.count)
        result = sprof_error_set(error, SPROF_ENOTFOUND, 0, "thread %d has ended", (int)tid);
    if (!result) {
        *thread = *stop.threads.items;
        sprof_vec_release(&stop.threads);
    } else {
        end(&stop);
    }
    return result;
}

void inject_stop_release(struct inject_stopped *thread, pid_t pid)
{
    struct inject_stop stop = {.pid = pid};
    let_go(&stop, thread, -1);
}
