#include "sampler/targets.h"

#include <assert.h>

int targets_add_process(struct targets *targets, pid_t pid)
{
    return sprof_map_put(&targets->processes, (uint64_t)pid, 1);
}

int targets_add_thread(struct targets *targets, pid_t pid, pid_t tid)
{
    return sprof_map_put(&targets->threads, (uint64_t)tid, (uint64_t)pid);
}

void targets_release(struct targets *targets)
{
    sprof_map_release(&targets->processes);
    sprof_map_release(&targets->threads);
}

static bool is_target(const struct targets *targets, pid_t pid)
{
    const uint64_t *known = sprof_map_get(&targets->processes, (uint64_t)pid);
    return known && *known;
}

bool targets_know(const struct targets *targets, pid_t pid, pid_t tid)
{
    if (targets->only_thread)
        return tid == targets->only_thread;
    return targets->trust > TARGETS_TRUST_NOTHING || is_target(targets, pid);
}

/* Between fork and execve the command's process runs sprof's own code. */
static bool before_execve(const struct targets *targets, const struct model_record *record)
{
    return record->pid == targets->command && !targets->command_runs &&
           (!targets->command_runs_ns || record->time_ns < targets->command_runs_ns);
}

/* A process that only its samples betray: the record of its fork was lost. But a number known to be
 * a stranger's may have stayed in the kernel's set. */
static bool adopt(struct targets *targets, pid_t pid, pid_t tid, enum targets_trust needed)
{
    if (targets->trust < needed || pid <= 0 || sprof_map_get(&targets->processes, (uint64_t)pid))
        return false;
    targets_add_process(targets, pid);
    targets_add_thread(targets, pid, tid);
    return true;
}

static bool admit_sample(struct targets *targets, const struct model_record *record)
{
    if (targets->only_thread)
        return record->tid == targets->only_thread;
    if (before_execve(targets, record))
        return false;
    return is_target(targets, record->pid) ||
           adopt(targets, record->pid, record->tid, TARGETS_TRUST_SAMPLES);
}

static bool admit_mmap(struct targets *targets, const struct model_record *record)
{
    if (before_execve(targets, record))
        return false;
    return is_target(targets, record->pid) ||
           adopt(targets, record->pid, record->tid, TARGETS_TRUST_ALL);
}

static bool admit_comm(struct targets *targets, const struct model_record *record)
{
    if (record->pid == targets->command && record->comm.exec)
        targets->command_runs = true;
    if (targets->only_thread && !record->comm.exec && record->tid != targets->only_thread)
        return false;
    return admit_mmap(targets, record);
}

static bool admit_fork(struct targets *targets, const struct model_record *record)
{
    if (targets->only_thread)
        return false;
    if (!is_target(targets, record->fork.parent_pid) && targets->trust != TARGETS_TRUST_ALL) {
        /* A new process of strangers takes its number with it. */
        if (record->pid != record->fork.parent_pid && is_target(targets, record->pid))
            sprof_map_put(&targets->processes, (uint64_t)record->pid, 0);
        return false;
    }
    targets_add_process(targets, record->pid);
    targets_add_thread(targets, record->pid, record->tid);
    return true;
}

static bool admit_exit(struct targets *targets, const struct model_record *record)
{
    if (targets->only_thread && record->tid != targets->only_thread)
        return false;
    if (!is_target(targets, record->pid))
        return false;
    if (sprof_map_get(&targets->threads, (uint64_t)record->tid))
        sprof_map_put(&targets->threads, (uint64_t)record->tid, 0);
    return true;
}

static bool admit_always(struct targets *targets, const struct model_record *record)
{
    (void)targets;
    (void)record;
    return true;
}

static bool (*const admit[])(struct targets *, const struct model_record *) = {
    [MODEL_RECORD_SAMPLE] = admit_sample,
    [MODEL_RECORD_MMAP] = admit_mmap,
    [MODEL_RECORD_COMM] = admit_comm,
    [MODEL_RECORD_FORK] = admit_fork,
    [MODEL_RECORD_EXIT] = admit_exit,
    [MODEL_RECORD_CPU_TIME] = admit_always, /* only targets have counters */
    [MODEL_RECORD_LOST] = admit_always,
    [MODEL_RECORD_THROTTLE] = admit_always,
};

static_assert(sizeof admit / sizeof *admit == MODEL_RECORD_TYPES, "one for each type");

bool targets_admit(struct targets *targets, const struct model_record *record)
{
    return record->type < MODEL_RECORD_TYPES && admit[record->type](targets, record);
}
