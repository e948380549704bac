#include "sampler/session.h"

#include "sampler/permission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int add_snapshot(struct sampler *sampler, uint64_t time_ns, struct sprof_error *error)
{
    int result =
        sampler->plan.exclude_kernel ? 0 : target_snapshot_kernel(&sampler->initial, time_ns);
    size_t count;
    const pid_t *pids = target_processes(sampler->target, &count);
    for (size_t i = 0; !result && i < count; i++)
        result = target_snapshot_process(&sampler->initial, pids[i], time_ns);
    return result ? sprof_error_memory(error) : 0;
}

static void state_facts(struct sampler *sampler)
{
    struct sampler_facts *facts = &sampler->facts;
    const struct plan *plan = &sampler->plan;
    memcpy(facts->event, plan->event->name, strlen(plan->event->name) + 1);
    facts->event_is_clock = plan->event->is_clock;
    facts->frequency_hz = plan->frequency_hz;
    /* The timer of a clock event runs at one period, whatever asked for it. */
    facts->varying_period = plan->frequency_hz && !plan->event->is_clock;
    if (!facts->varying_period)
        facts->period = plan->period ? plan->period : UINT64_C(1000000000) / plan->frequency_hz;
    facts->kernel_excluded = plan->exclude_kernel;
    facts->stack_bytes = plan->stack_bytes;
    facts->stack_bytes_wanted = plan->stack_bytes_wanted;
    facts->command_pid = target_command(sampler->target);
}

static int open_session(struct sampler *sampler, const struct sampler_options *options,
                        struct sprof_error *error)
{
    const struct target_options target = {
        .command = options->command,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .tid = options->tid,
        .in_child = perf_warm_up,
    };
    int result = target_open(&sampler->target, &target, error);
    if (result)
        return result;
    sampler->targets.command = target_command(sampler->target);
    sampler->targets.only_thread = target_thread(sampler->target);
    sampler->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sampler->buffer = aligned_alloc(8, RING_RECORD_MAX);
    if (!sampler->buffer)
        return sprof_error_memory(error);
    if (sampler->interrupt_fd < 0)
        return permission_explain(0, false, errno, error);
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    result = session_open_events(sampler, options, error);
    if (!result)
        result = add_snapshot(sampler, before_ns, error);
    if (result)
        return result;
    sampler->poll_capacity = 2 + target_poll_count(sampler->target) + sampler->cpu_rings;
    sampler->polls = calloc(sampler->poll_capacity, sizeof *sampler->polls);
    sampler->nap_ns = session_nap_ns(sampler);
    state_facts(sampler);
    return sampler->polls ? 0 : sprof_error_memory(error);
}

int sampler_open(struct sampler **opened, const struct sampler_options *options,
                 struct sprof_error *error)
{
    *opened = NULL;
    struct plan plan;
    int result = plan_make(&plan, options, error);
    if (result)
        return result;
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return sprof_error_memory(error);
    sampler->plan = plan;
    sampler->log = options->log;
    sampler->filter = FILTER_BPF_NONE;
    sampler->rest_bpf = REST_BPF_NONE;
    sampler->interrupt_fd = -1;
    sampler->spare_fds[0] = sampler->spare_fds[1] = -1;
    result = open_session(sampler, options, error);
    sampler->log = NULL;
    if (result) {
        sampler_free(sampler);
        return result;
    }
    *opened = sampler;
    return 0;
}

static void close_list(struct sprof_id_list *fds)
{
    for (size_t i = 0; i < fds->count; i++)
        close(fds->items[i]);
    sprof_vec_release(fds);
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    close_list(&sampler->events);
    close_list(&sampler->trackers);
    rest_bpf_close(&sampler->rest_bpf);
    stack_ends_close(&sampler->stack_ends);
    filter_bpf_close(&sampler->filter);
    counters_release(&sampler->cpu_time);
    merge_release(&sampler->merge);
    rests_release(&sampler->rests);
    target_free(sampler->target);
    if (sampler->interrupt_fd >= 0)
        close(sampler->interrupt_fd);
    sprof_vec_release(&sampler->cpus);
    targets_release(&sampler->targets);
    target_snapshot_release(&sampler->initial);
    target_snapshot_release(&sampler->final);
    sprof_map_release(&sampler->owners);
    sprof_map_release(&sampler->owned);
    sprof_map_release(&sampler->opened);
    sprof_map_release(&sampler->counted);
    sprof_map_release(&sampler->uncounted);
    free(sampler->buffer);
    free(sampler->polls);
    free(sampler);
}

const struct sampler_facts *sampler_facts(const struct sampler *sampler)
{
    return &sampler->facts;
}

struct sampler_counters sampler_counters(const struct sampler *sampler)
{
    return sampler->counts;
}

static void for_each_event(struct sampler *sampler, void (*act)(int fd))
{
    for (size_t i = 0; i < sampler->events.count; i++)
        act(sampler->events.items[i]);
    for (size_t i = 0; i < sampler->trackers.count; i++)
        act(sampler->trackers.items[i]);
    if (sampler->facts.scope != SAMPLER_SCOPE_TASK) /* there the rings' owners are the trackers */
        for (size_t i = 0; i < sampler->cpu_rings; i++)
            act(sampler->merge.rings.items[i].fd);
}

int sampler_start(struct sampler *sampler, struct sprof_error *error)
{
    if (sampler->started)
        return sprof_error_set(error, SPROF_ESTATE, 0, "the sampler was started before");
    sampler->started = true;
    /* The events of a command in task scope begin with its execve. */
    const bool launches = target_command(sampler->target) != 0;
    if (!launches || sampler->facts.scope != SAMPLER_SCOPE_TASK)
        for_each_event(sampler, perf_event_enable);
    if (!launches)
        counters_enable(&sampler->cpu_time);
    sampler->start_ns = sprof_clock_monotonic_ns();
    if (!launches)
        return 0;
    const int result = target_start(sampler->target, error);
    sampler->targets.command_runs_ns = sprof_clock_monotonic_ns();
    return result;
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler->stopped)
        return;
    for_each_event(sampler, perf_event_disable);
    counters_disable(&sampler->cpu_time);
    sampler->stopped = true;
    merge_refresh(&sampler->merge);
    sampler->seen_ns = sprof_clock_monotonic_ns();
    sampler->horizon_ns = UINT64_MAX;
}

void sampler_interrupt(struct sampler *sampler)
{
    const int saved = errno;
    const uint64_t one = 1;
    if (write(sampler->interrupt_fd, &one, sizeof one) < 0) {
        /* The counter is at its end: the wait returns anyway. */
    }
    errno = saved;
}

bool sampler_targets_ended(struct sampler *sampler, int *wait_status)
{
    return target_ended(sampler->target, wait_status);
}

uint64_t sampler_target_cpu_ns(struct sampler *sampler)
{
    return sampler->counters_full ? 0 : counters_total_ns(&sampler->cpu_time);
}

uint64_t sampler_unseen_cpu_ns(struct sampler *sampler)
{
    const uint64_t seen_ns = sampler_target_cpu_ns(sampler);
    const uint64_t charged_ns = target_command_cpu_ns(sampler->target); /* 0 until it was reaped */
    return !sampler->facts.kernel_excluded && seen_ns && charged_ns > seen_ns ? charged_ns - seen_ns
                                                                              : 0;
}
