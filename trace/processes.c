/* The processes that run a program: which live, and what they have used of the CPU. */
#include "trace/tracing.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int trace_process_add(struct trace_session *session, pid_t pid)
{
    struct trace_process process = {.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0)};
    process.is_over = process.fd < 0 && errno == ESRCH;
    if (!sprof_map_put(&session->process_index, (uint32_t)pid, session->processes.count) &&
        !sprof_vec_push(&session->processes, process)) {
        if (!process.is_over)
            trace_keeper_watch(&session->common->keeper, pid, false, -1);
        return 0;
    }
    if (process.fd >= 0)
        close(process.fd);
    return SPROF_ENOMEM;
}

struct trace_process *trace_process_find(const struct trace_session *session, pid_t pid)
{
    const uint64_t *index = sprof_map_get(&session->process_index, (uint32_t)pid);
    return index && *index < session->processes.count ? &session->processes.items[*index] : NULL;
}

int trace_process_add_forked(struct trace_session *session, pid_t pid)
{
    const struct model_record fork = {.type = MODEL_RECORD_FORK,
                                      .time_ns = sprof_clock_monotonic_ns(),
                                      .pid = pid,
                                      .tid = pid,
                                      .fork = {session->pid, session->pid}};
    return recording_event(session->recording, &fork) ? SPROF_ENOMEM
                                                      : trace_process_add(session, pid);
}

pid_t trace_process_seen(struct trace_session *session, uint32_t pid)
{
    if (!session->options.children || !pid || pid > INT32_MAX)
        return session->pid;
    return trace_process_find(session, (pid_t)pid) || !trace_process_add_forked(session, (pid_t)pid)
               ? (pid_t)pid
               : 0;
}

/* Where there is no descriptor a process that waits to be reaped has ended, too. */
static bool has_ended(const struct trace_process *process)
{
    struct pollfd ends = {.fd = process->fd, .events = POLLIN};
    struct sprof_proc_stat stat;
    if (process->fd >= 0)
        return poll(&ends, 1, 0) > 0;
    return !sprof_proc_stat_read(process->pid, &stat) || stat.state == 'Z';
}

bool trace_processes_are_over(struct trace_session *session)
{
    bool all = true;
    for (size_t i = 0; i < session->processes.count; i++) {
        struct trace_process *process = &session->processes.items[i];
        if (!process->is_over && has_ended(process)) {
            process->is_over = true;
            trace_keeper_forget(&session->common->keeper, process->pid);
            if (process->fd >= 0)
                close(process->fd);
            process->fd = -1;
        }
        all &= process->is_over;
    }
    return all;
}

uint64_t trace_command_cpu_ns(struct trace_session *session)
{
    uint64_t sum_ns = session->ended_cpu_ns;
    if (session->children)
        for (size_t i = 0; i < session->programs.count; i++)
            sum_ns += trace_command_cpu_ns(session->programs.items[i]);
    for (size_t i = 0; i < session->processes.count; i++) {
        struct trace_process *process = &session->processes.items[i];
        clockid_t clock;
        struct timespec used;
        if (!process->is_over && !clock_getcpuclockid(process->pid, &clock) &&
            !clock_gettime(clock, &used))
            process->cpu_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
        sum_ns += process->cpu_ns;
    }
    return sum_ns;
}

void trace_processes_release(struct trace_session *session)
{
    for (size_t i = 0; i < session->processes.count; i++)
        if (session->processes.items[i].fd >= 0)
            close(session->processes.items[i].fd);
    sprof_vec_release(&session->processes);
    sprof_map_release(&session->process_index);
}
