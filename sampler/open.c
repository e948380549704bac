/* Opening events: per CPU where that is permitted, else per task. */
#include "sampler/permission.h"
#include "sampler/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DEFAULT_BUDGET_BYTES = 64 << 20 };

/* The soft limit on open files is for programs that use select; events are counted in thousands.
 * The command was forked before and keeps its own. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void close_rings(struct sampler *sampler)
{
    merge_release(&sampler->merge);
    sampler->cpu_rings = 0;
}

/* One ring on one CPU. Returns 0 or a negative errno; *mapping says whether it was the memory. */
static int add_ring(struct sampler *sampler, pid_t pid, int cpu, size_t size, bool *mapping)
{
    struct perf_event_attr attr;
    plan_ring_event(&attr, pid < 0);
    const int fd = perf_open_dropping(&attr, pid, cpu, -1);
    *mapping = fd >= 0;
    if (fd < 0)
        return fd;
    struct ring ring;
    const int result = ring_open(&ring, fd, size);
    if (result) {
        close(fd);
        return result;
    }
    if (merge_add(&sampler->merge, &ring))
        return -ENOMEM;
    sampler->cpu_rings++;
    return 0;
}

/* Rings of one size on all CPUs. CPUs that went away meanwhile are forgotten. */
static int add_rings(struct sampler *sampler, pid_t pid, size_t size, bool *mapping)
{
    for (size_t i = 0; i < sampler->cpus.count;) {
        const int result = add_ring(sampler, pid, sampler->cpus.items[i], size, mapping);
        if (result == -ENODEV && sampler->cpus.count > 1) {
            sampler->cpus.items[i] = sampler->cpus.items[--sampler->cpus.count];
            continue;
        }
        if (result)
            return result;
        i++;
    }
    return 0;
}

/* pid -1: rings owned by trackers of everything on each CPU; 0: by events on ourselves. */
static int open_rings(struct sampler *sampler, pid_t pid, size_t budget, struct sprof_error *error)
{
    const size_t least = plan_ring_least(&sampler->plan);
    size_t size = plan_ring_bytes(&sampler->plan, budget / sampler->cpus.count);
    for (;; size /= 2) {
        bool mapping = false;
        const int result = add_rings(sampler, pid, size, &mapping);
        if (!result)
            break;
        close_rings(sampler);
        if (!mapping || (result != -EPERM && result != -ENOMEM))
            return permission_explain(0, false, -result, error);
        if (size / 2 < least)
            return permission_explain_rings(size, -result, error);
    }
    plan_fit_stack(&sampler->plan, size);
    sampler->facts.rings = (unsigned)sampler->cpu_rings;
    sampler->facts.ring_bytes = size * sampler->cpu_rings;
    return 0;
}

/* Decided before the first sampling event is opened. */
static void settle_layout(struct sampler *sampler)
{
    struct plan *plan = &sampler->plan;
    plan->layout.has_stack = plan->capture != SAMPLER_CAPTURE_PC;
    plan->layout.has_chain = plan->capture == SAMPLER_CAPTURE_FULL && !plan->exclude_kernel;
}

static void explain_no_bpf(struct sampler *sampler, int result)
{
    snprintf(sampler->facts.no_bpf_why, sizeof sampler->facts.no_bpf_why, "%s",
             filter_bpf_reason(result));
    sprof_log_message(sampler->log, SPROF_LOG_DEBUG, "without BPF: %s (%s)",
                      filter_bpf_reason(result), strerror(-result));
}

static void try_filter(struct sampler *sampler, enum sampler_scope best)
{
    if (best > SAMPLER_SCOPE_CPU_FILTERED)
        return;
    const struct filter_bpf_tails tails = session_tails(sampler);
    const int result = filter_bpf_open(&sampler->filter, !sampler->targets.only_thread, &tails);
    if (result)
        explain_no_bpf(sampler, result);
}

/* The sampling event of one CPU. Where the program cannot be put on it, sprof filters itself. */
static int open_cpu_event(struct sampler *sampler, size_t index)
{
    struct perf_event_attr attr;
    plan_sampling_event(&sampler->plan, &attr, true, false);
    const int fd = perf_open_dropping(&attr, -1, sampler->cpus.items[index],
                                      sampler->merge.rings.items[index].fd);
    if (fd < 0)
        return fd;
    if (sprof_vec_push(&sampler->events, fd)) {
        close(fd);
        return -ENOMEM;
    }
    if (sampler->filter.programs && filter_bpf_attach(&sampler->filter, fd)) {
        explain_no_bpf(sampler, -EINVAL);
        filter_bpf_close(&sampler->filter);
    }
    return 0;
}

static int add_targets(struct sampler *sampler)
{
    const pid_t command = target_command(sampler->target);
    int result = 0;
    if (command)
        result = targets_add_process(&sampler->targets, command) ||
                 targets_add_thread(&sampler->targets, command, command);
    size_t count;
    const pid_t *pids = target_processes(sampler->target, &count);
    for (size_t i = 0; i < count; i++)
        result = result || targets_add_process(&sampler->targets, pids[i]);
    return result ? SPROF_ENOMEM : 0;
}

static int open_cpu_scope(struct sampler *sampler, const struct sampler_options *options,
                          struct sprof_error *error)
{
    settle_layout(sampler);
    int result = open_rings(
        sampler, -1, options->ring_budget_bytes ? options->ring_budget_bytes : DEFAULT_BUDGET_BYTES,
        error);
    if (result)
        return result;
    try_filter(sampler, options->minimum_scope);
    for (size_t i = 0; i < sampler->cpus.count; i++) {
        result = open_cpu_event(sampler, i);
        if (result)
            return permission_explain(0, false, -result, error);
    }
    const bool filtered = sampler->filter.programs;
    session_open_rests(sampler);
    sampler->facts.scope = filtered ? SAMPLER_SCOPE_CPU_FILTERED : SAMPLER_SCOPE_CPU;
    sampler->targets.trust = filtered ? TARGETS_TRUST_SAMPLES : TARGETS_TRUST_NOTHING;
    if (target_command(sampler->target))
        return filtered && filter_bpf_add(&sampler->filter, target_command(sampler->target))
                   ? sprof_error_memory(error)
                   : 0;
    for (size_t i = 0; i < sampler->cpu_rings; i++)
        perf_event_enable(sampler->merge.rings.items[i].fd);
    return filtered ? session_attach_filter(sampler, error) : 0;
}

static bool kernel_allowed(const struct plan *plan)
{
    struct perf_event_attr attr;
    plan_sampling_event(plan, &attr, false, false);
    const int fd = perf_open_dropping(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd != -EACCES && fd != -EPERM;
}

/* The events of the command start at its execve and are inherited by all it starts. */
static int open_command_events(struct sampler *sampler, struct sprof_error *error)
{
    struct perf_event_attr attr;
    plan_sampling_event(&sampler->plan, &attr, false, true);
    attr.inherit = 1;
    attr.enable_on_exec = 1;
    for (size_t i = 0; i < sampler->cpus.count; i++) {
        const int fd = perf_open_dropping(&attr, target_command(sampler->target),
                                          sampler->cpus.items[i], sampler->merge.rings.items[i].fd);
        if (fd < 0)
            return permission_explain(0, false, -fd, error);
        if (sprof_vec_push(&sampler->events, fd)) {
            close(fd);
            return sprof_error_memory(error);
        }
    }
    return 0;
}

static int open_task_scope(struct sampler *sampler, const struct sampler_options *options,
                           struct sprof_error *error)
{
    settle_layout(sampler);
    if (!sampler->plan.exclude_kernel && !kernel_allowed(&sampler->plan)) {
        sampler->plan.exclude_kernel = true;
        permission_kernel_excluded(sampler->facts.kernel_excluded_why,
                                   sizeof sampler->facts.kernel_excluded_why);
        settle_layout(sampler);
    }
    const int result = open_rings(
        sampler, 0, options->ring_budget_bytes ? options->ring_budget_bytes : DEFAULT_BUDGET_BYTES,
        error);
    if (result)
        return result;
    if (options->minimum_scope < SAMPLER_SCOPE_TASK)
        explain_no_bpf(sampler, -EPERM);
    session_open_rests(sampler);
    sampler->facts.scope = SAMPLER_SCOPE_TASK;
    sampler->targets.trust = TARGETS_TRUST_ALL;
    return target_command(sampler->target) ? open_command_events(sampler, error)
                                           : session_attach_tasks(sampler, error);
}

/* Whether events on whole CPUs are permitted. */
static bool cpu_scope_allowed(const struct sampler *sampler)
{
    struct perf_event_attr attr;
    plan_sampling_event(&sampler->plan, &attr, true, false);
    const int fd = perf_open_dropping(&attr, -1, sampler->cpus.items[0], -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int session_open_events(struct sampler *sampler, const struct sampler_options *options,
                        struct sprof_error *error)
{
    raise_file_limit();
    if (sprof_proc_online_cpus(&sampler->cpus))
        return sprof_error_memory(error);
    sampler->facts.cpus = (unsigned)sampler->cpus.count;
    if (add_targets(sampler))
        return sprof_error_memory(error);
    const bool cpu_scope =
        options->minimum_scope < SAMPLER_SCOPE_TASK && cpu_scope_allowed(sampler);
    const int result = cpu_scope ? open_cpu_scope(sampler, options, error)
                                 : open_task_scope(sampler, options, error);
    return result ? result : session_open_counters(sampler, error);
}
