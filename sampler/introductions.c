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

/* They have neither files nor memory that can be read here: what remains is that they ran. */
static int show_outside(struct sampler *sampler, struct model_record *record)
{
    record->pid = record->tid = 0;
    record->sample.register_count = 0;
    record->sample.stack_size = record->sample.tail_size = record->sample.call_count = 0;
    if (!record->sample.in_kernel)
        record->sample.ip = 0;
    if (sampler->counts.outside_samples++)
        return 0;
    const struct model_record name = {.type = MODEL_RECORD_COMM,
                                      .time_ns = record->time_ns,
                                      .cpu = -1,
                                      .comm.name = "[outside the container]"};
    return target_snapshot_push(&sampler->initial, &name);
}

int sampler_merge_outside(struct sampler *sampler, struct model_record *taken)
{
    if (!sampler->is_enclosed || taken->pid > 0)
        return 0;
    if (taken->type == MODEL_RECORD_SAMPLE)
        return show_outside(sampler, taken);
    return taken->type == MODEL_RECORD_FORK || taken->type == MODEL_RECORD_EXIT ||
           taken->type == MODEL_RECORD_COMM || taken->type == MODEL_RECORD_MMAP;
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
