/* Waits for records, and looks at the rings after each wait. */
#include "sampler/perf/perf_source.h"
#include "sampler/perf/wait_plan.h"

int perf_batch_wait_for(struct source *opened, uint64_t now_ns, struct source_wait *wait)
{
    struct perf_source *source = (struct perf_source *)opened;
    perf_early_copies_lock(&source->programs.early_copies);
    sampler_merge_publish(&source->rings.merge);
    perf_early_copies_unlock(&source->programs.early_copies);
    if (source->progress.stopped)
        return 0;
    const bool copies_by_itself = source->programs.come && !source->programs.early_copies.running;
    struct perf_wait_state state = {
        .active = source->batch.active,
        .rings_unpollable = source->batch.rings_unpollable || source->programs.early_copies.running,
        .batch_interval_ns = source->batch.interval_ns,
        .deep_until_ns = copies_by_itself ? UINT64_MAX : source->tails.deep_until_ns,
        .samples_per_second = perf_config_samples_per_second(&source->config),
    };
    state.has_record = sampler_merge_first(&source->rings.merge, &state.first_ns) != NULL;
    const struct perf_wait_plan plan = perf_wait_plan(&state, now_ns);
    if (plan.deadline_ns < wait->deadline_ns)
        wait->deadline_ns = plan.deadline_ns;
    const int fd =
        source->programs.come ? source->programs.loading.ended_fd : source->tails.bpf.wake_fd;
    const struct pollfd tails = {.fd = fd, .events = POLLIN};
    if (sprof_vec_push(&wait->polls, tails))
        return SPROF_ENOMEM;
    for (size_t i = 0; plan.polls_rings && i < source->rings.merge.rings.count; i++) {
        const bool larger =
            i >= source->rings.of_events && i - source->rings.of_events < source->cpus.count;
        const struct pollfd ring = {.fd = source->rings.merge.rings.items[i].fd, .events = POLLIN};
        if ((larger || i < source->rings.of_cpus) && sprof_vec_push(&wait->polls, ring))
            return SPROF_ENOMEM;
    }
    return 0;
}

int perf_batch_look(struct source *opened, uint64_t now_ns, const struct pollfd *polls,
                    size_t count)
{
    struct perf_source *source = (struct perf_source *)opened;
    if (source->progress.stopped)
        return 0;
    /* A ring whose CPU went offline, or whose owner was a thread that ended, is always "ready":
     * then the rings are looked at from time to time. */
    if (count && polls[0].revents && !source->programs.come)
        perf_stack_tail_bpf_take_wake(&source->tails.bpf);
    for (size_t i = 1; i < count; i++)
        source->batch.rings_unpollable |= polls[i].revents & (POLLHUP | POLLERR | POLLNVAL);
    source->members.command_runs_ns = target_started_ns(source->target);
    const bool arrives =
        source->programs.come && perf_filter_loading_ended(&source->programs.loading);
    if (arrives && perf_filter_arrival_take(source))
        return SPROF_ENOMEM;
    perf_early_copies_lock(&source->programs.early_copies);
    sampler_stack_tail_copies_drop_taken(&source->tails.copies);
    source->batch.active = sampler_merge_refresh(&source->rings.merge) || arrives;
    perf_stack_tail_copy(source);
    perf_early_copies_unlock(&source->programs.early_copies);
    source->progress.seen_ns = now_ns;
    source->progress.horizon_ns = now_ns - PERF_SLACK_NS;
    perf_jitter_look(source, now_ns);
    perf_hotplug_look(source, now_ns);
    off_cpu_threshold_govern(&source->switches.threshold, source->switches.kept, now_ns);
    return 0;
}
