/* Makes known what a process is before the first record of it, where the whole machine is sampled:
 * one that was there before the recording began. */
#include "sampler/session.h"

/* Whether a process has had no record yet; it has one now. */
static bool is_new(struct sampler *sampler, pid_t pid)
{
    uint64_t *known = pid > 0 ? sprof_map_at(&sampler->introduced, (uint64_t)pid) : NULL;
    if (!known || *known)
        return false;
    *known = 1;
    return true;
}

static int show(struct sampler *sampler, pid_t pid, uint64_t time_ns)
{
    return is_new(sampler, pid) ? target_snapshot_process(&sampler->initial, pid, time_ns) : 0;
}

int sampler_introduce(struct sampler *sampler, const struct model_record *taken,
                      const struct model_record **record)
{
    const bool is_fork = taken->type == MODEL_RECORD_FORK;
    *record = taken;
    if (!sampler->introduces)
        return 0;
    int result = is_fork ? show(sampler, taken->fork.parent_pid, taken->time_ns) : 0;
    if (is_fork) /* it begins with this */
        is_new(sampler, taken->pid);
    else if (!result)
        result = show(sampler, taken->pid, taken->time_ns);
    if (result)
        return result;
    const struct model_record *first = target_snapshot_next(&sampler->initial);
    if (!first)
        return 0;
    sampler->held = taken;
    *record = first;
    return 0;
}

const struct model_record *sampler_introductions_end(struct sampler *sampler)
{
    const struct model_record *held = sampler->held;
    if (held)
        target_snapshot_release(&sampler->initial);
    sampler->held = NULL;
    return held;
}
