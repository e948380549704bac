/* Keeps which threads belong to the targets. */
#include "sampler/perf/members.h"

#include <assert.h>

int perf_members_add_process(struct perf_members *members, pid_t pid)
{
    return sprof_map_put(&members->processes, (uint64_t)pid, 1);
}

int perf_members_add_thread(struct perf_members *members, pid_t pid, pid_t tid)
{
    return sprof_map_put(&members->threads, (uint64_t)tid, (uint64_t)pid);
}

void perf_members_release(struct perf_members *members)
{
    sprof_map_release(&members->processes);
    sprof_map_release(&members->threads);
}

static bool is_target(const struct perf_members *members, pid_t pid)
{
    const uint64_t *known = sprof_map_get(&members->processes, (uint64_t)pid);
    return known && *known;
}

bool perf_members_know(const struct perf_members *members, pid_t pid, pid_t tid)
{
    if (members->only_thread)
        return tid == members->only_thread;
    return members->everyone || members->trust > PERF_TRUST_NOTHING || is_target(members, pid);
}

/* Between fork and execve the command's process runs sprof's own code. */
static bool before_execve(const struct perf_members *members, const struct model_record *record)
{
    return record->pid == members->command && !members->command_runs &&
           (!members->command_runs_ns || record->time_ns < members->command_runs_ns);
}

/* A process that only its samples betray: the record of its fork was lost. But a number known to be
 * a stranger's may have stayed in the kernel's set. */
static bool adopt(struct perf_members *members, pid_t pid, pid_t tid, enum perf_trust needed)
{
    if (members->trust < needed || pid <= 0 || sprof_map_get(&members->processes, (uint64_t)pid))
        return false;
    perf_members_add_process(members, pid);
    perf_members_add_thread(members, pid, tid);
    return true;
}

static bool admit_sample(struct perf_members *members, const struct model_record *record)
{
    if (members->only_thread)
        return record->tid == members->only_thread;
    if (before_execve(members, record))
        return false;
    return is_target(members, record->pid) ||
           adopt(members, record->pid, record->tid, PERF_TRUST_SAMPLES);
}

/* No program filters switches in the kernel. */
static bool admit_switch(struct perf_members *members, const struct model_record *record)
{
    if (members->only_thread)
        return record->tid == members->only_thread;
    return !before_execve(members, record) &&
           (is_target(members, record->pid) ||
            adopt(members, record->pid, record->tid, PERF_TRUST_ALL));
}

static bool admit_mmap(struct perf_members *members, const struct model_record *record)
{
    if (before_execve(members, record))
        return false;
    return is_target(members, record->pid) ||
           adopt(members, record->pid, record->tid, PERF_TRUST_ALL);
}

static bool admit_comm(struct perf_members *members, const struct model_record *record)
{
    if (record->pid == members->command && record->comm.exec)
        members->command_runs = true;
    if (members->only_thread && !record->comm.exec && record->tid != members->only_thread)
        return false;
    return admit_mmap(members, record);
}

static bool admit_fork(struct perf_members *members, const struct model_record *record)
{
    if (members->only_thread)
        return false;
    if (!is_target(members, record->fork.parent_pid) && members->trust != PERF_TRUST_ALL) {
        /* A new process of strangers takes its number with it. */
        if (record->pid != record->fork.parent_pid && is_target(members, record->pid))
            sprof_map_put(&members->processes, (uint64_t)record->pid, 0);
        return false;
    }
    perf_members_add_process(members, record->pid);
    perf_members_add_thread(members, record->pid, record->tid);
    return true;
}

static bool admit_exit(struct perf_members *members, const struct model_record *record)
{
    if (members->only_thread && record->tid != members->only_thread)
        return false;
    if (!is_target(members, record->pid))
        return false;
    if (sprof_map_get(&members->threads, (uint64_t)record->tid))
        sprof_map_put(&members->threads, (uint64_t)record->tid, 0);
    return true;
}

static bool admit_always(struct perf_members *members, const struct model_record *record)
{
    (void)members;
    (void)record;
    return true;
}

static bool (*const admit[])(struct perf_members *, const struct model_record *) = {
    [MODEL_RECORD_SAMPLE] = admit_sample,
    [MODEL_RECORD_MMAP] = admit_mmap,
    [MODEL_RECORD_COMM] = admit_comm,
    [MODEL_RECORD_FORK] = admit_fork,
    [MODEL_RECORD_EXIT] = admit_exit,
    [MODEL_RECORD_CPU_TIME] = admit_always, /* only targets have counters */
    [MODEL_RECORD_LOST] = admit_always,
    [MODEL_RECORD_THROTTLE] = admit_always,
    [MODEL_RECORD_SWITCH] = admit_switch,
};

static_assert(sizeof admit / sizeof *admit == MODEL_RECORD_TYPES, "one for each type");

bool perf_members_admit(struct perf_members *members, const struct model_record *record)
{
    if (members->everyone)
        return record->type < MODEL_RECORD_TYPES;
    return record->type < MODEL_RECORD_TYPES && admit[record->type](members, record);
}
