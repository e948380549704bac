/* A target: the command that was launched, or the processes or the thread attached to. */
#include "target/target.h"

#include "base/compat.h"
#include "target/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PIDFD_THREAD /* Linux 6.9 */
#define PIDFD_THREAD O_EXCL
#endif

struct target {
    struct target_launch launch;
    SPROF_VEC(pid_t) pids; /* attached to, */
    SPROF_VEC(int)
    pidfds; /* … for each the descriptor that becomes readable at its end, -1: none */
    SPROF_VEC(bool) ended; /* … and whether it was seen to end */
    pid_t tid;
    bool all;
    uint64_t started_ns;
    uint64_t ready_start_ns; /* of what ran before */
};

/* == Opening == */

static int check(const struct target_options *options, struct sprof_error *error)
{
    const int kinds = !!options->command + !!options->pid_count + !!options->tid;
    if (options->all ? options->pid_count || options->tid : kinds != 1)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give either a command, or processes, or one thread");
    int result = options->tid ? target_check(options->tid, true, error) : 0;
    for (size_t i = 0; !result && i < options->pid_count; i++)
        result = target_check(options->pids[i], false, error);
    return result;
}

static int attach(struct target *target, pid_t pid, pid_t tid)
{
    for (size_t i = 0; i < target->pids.count; i++)
        if (target->pids.items[i] == pid) /* given twice */
            return 0;
    const int pidfd = (int)syscall(SYS_pidfd_open, tid ? tid : pid, tid ? PIDFD_THREAD : 0);
    if (sprof_vec_push(&target->pidfds, pidfd)) {
        if (pidfd >= 0)
            close(pidfd);
        return SPROF_ENOMEM;
    }
    return sprof_vec_push(&target->pids, pid) || sprof_vec_push(&target->ended, false)
               ? SPROF_ENOMEM
               : 0;
}

static int open_parts(struct target *target, const struct target_options *options,
                      struct sprof_error *error)
{
    if (options->command) {
        const int result =
            target_launch_open(&target->launch, options->command, options->in_child, error);
        target->launch.meanwhile = options->meanwhile;
        target->launch.meanwhile_context = options->meanwhile_context;
        return result;
    }
    if (options->tid) {
        struct sprof_proc_status status;
        if (!sprof_proc_status_read(options->tid, &status))
            return target_check(options->tid, true, error);
        target->tid = options->tid;
        return attach(target, status.process, options->tid) ? sprof_error_memory(error) : 0;
    }
    for (size_t i = 0; i < options->pid_count; i++)
        if (attach(target, options->pids[i], 0))
            return sprof_error_memory(error);
    return 0;
}

int target_open(struct target **opened, const struct target_options *options,
                struct sprof_error *error)
{
    *opened = NULL;
    int result = check(options, error);
    if (result)
        return result;
    struct target *target = calloc(1, sizeof *target);
    if (!target)
        return sprof_error_memory(error);
    target->launch = TARGET_LAUNCH_NONE;
    target->all = options->all;
    result = open_parts(target, options, error);
    if (result)
        target_free(target);
    else
        *opened = target;
    return result;
}

void target_free(struct target *target)
{
    if (!target)
        return;
    target_launch_close(&target->launch);
    for (size_t i = 0; i < target->pidfds.count; i++)
        if (target->pidfds.items[i] >= 0)
            close(target->pidfds.items[i]);
    sprof_vec_release(&target->pids);
    sprof_vec_release(&target->pidfds);
    sprof_vec_release(&target->ended);
    free(target);
}

/* == Queries == */

pid_t target_command(const struct target *target)
{
    return target->launch.pid;
}

pid_t target_thread(const struct target *target)
{
    return target->tid;
}

const pid_t *target_processes(const struct target *target, size_t *count)
{
    *count = target->pids.count;
    return target->pids.items;
}

uint64_t target_command_cpu_ns(const struct target *target)
{
    return target->launch.cpu_ns;
}

/* Of all threads of a process since they began. */
static uint64_t process_ready_ns(pid_t pid)
{
    struct sprof_id_list threads = {0};
    uint64_t sum_ns = 0;
    sprof_proc_threads(pid, &threads); /* of those that it found */
    for (size_t i = 0; i < threads.count; i++)
        sum_ns += target_thread_ready_ns(pid, threads.items[i]);
    sprof_vec_release(&threads);
    return sum_ns;
}

static uint64_t running_ready_ns(const struct target *target)
{
    uint64_t sum_ns = 0;
    if (target->all)
        return 0;
    if (target->tid)
        return target_thread_ready_ns(target->tid, target->tid);
    for (size_t i = 0; i < target->pids.count; i++)
        sum_ns += process_ready_ns(target->pids.items[i]);
    return sum_ns;
}

uint64_t target_ready_ns(const struct target *target)
{
    const struct target_launch *launch = &target->launch;
    const uint64_t now_ns = launch->reaped ? launch->ready_start_ns + launch->ready_ns
                            : launch->pid  ? process_ready_ns(launch->pid)
                                           : running_ready_ns(target);
    const uint64_t start_ns = launch->pid ? launch->ready_start_ns : target->ready_start_ns;
    return now_ns > start_ns ? now_ns - start_ns : 0;
}

/* == Running == */

int target_set_environment(struct target *target, const char *assignment)
{
    return sprof_str_append_bytes(&target->launch.environment, assignment, strlen(assignment) + 1);
}

int target_start(struct target *target, struct sprof_error *error)
{
    const int result = target->launch.pid ? target_launch_go(&target->launch, error) : 0;
    target->started_ns = sprof_clock_monotonic_ns();
    target->ready_start_ns = running_ready_ns(target);
    return result;
}

uint64_t target_started_ns(const struct target *target)
{
    return target->started_ns;
}

/* Whether the process or thread at `index` of the lists has ended, where no descriptor says so. */
static bool ended_in_proc(const struct target *target, size_t index)
{
    struct sprof_proc_status status;
    const pid_t pid = target->tid ? target->tid : target->pids.items[index];
    if (!sprof_proc_status_read(pid, &status))
        return true;
    return (status.state == 'Z' || status.state == 'X') && (target->tid || status.threads <= 1);
}

static bool attached_ended(struct target *target, size_t index)
{
    int *pidfd = &target->pidfds.items[index];
    bool *ended = &target->ended.items[index];
    if (*ended)
        return true;
    struct pollfd poll_fd = {.fd = *pidfd, .events = POLLIN};
    *ended = *pidfd >= 0 ? poll(&poll_fd, 1, 0) > 0 : ended_in_proc(target, index);
    if (*ended && *pidfd >= 0) {
        close(*pidfd);
        *pidfd = -1;
    }
    return *ended;
}

bool target_ended(struct target *target, int *wait_status)
{
    if (target->launch.pid) {
        if (!target->launch.started || !target_launch_ended(&target->launch))
            return false;
        if (wait_status)
            *wait_status = target->launch.wait_status;
        return true;
    }
    bool ended = !target->all;
    for (size_t i = 0; i < target->pids.count; i++)
        ended &= attached_ended(target, i);
    return ended;
}

void target_forget(struct target *target, pid_t pid)
{
    for (size_t i = 0; i < target->pids.count; i++) {
        if (target->pids.items[i] != pid)
            continue;
        target->ended.items[i] = true;
        if (target->pidfds.items[i] >= 0)
            close(target->pidfds.items[i]);
        target->pidfds.items[i] = -1;
    }
}

size_t target_poll_count(const struct target *target)
{
    return 1 + target->pids.count;
}

size_t target_polls(const struct target *target, struct pollfd *polls, bool *blind)
{
    const struct target_launch *launch = &target->launch;
    *blind = launch->pid && !launch->reaped && launch->pidfd < 0;
    polls[0] = (struct pollfd){.fd = launch->started ? launch->pidfd : -1, .events = POLLIN};
    for (size_t i = 0; i < target->pids.count; i++) {
        const int pidfd = target->pidfds.items[i];
        polls[1 + i] = (struct pollfd){.fd = pidfd, .events = POLLIN};
        *blind |= pidfd < 0 && !target->ended.items[i];
    }
    return target_poll_count(target);
}
