/* Opening events: per CPU where that is permitted, else per task. */
#include "sampler/perf/bpf_refusal.h"
#include "sampler/perf/perf_source.h"
#include "sampler/perf/permission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    DEFAULT_BUDGET_BYTES = 64 << 20,
    WAITED_NS_MAX = 3000000, /* for a CPU while things are opened: then CPUs are free enough */
};

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

static void close_rings(struct perf_source *source)
{
    sampler_merge_release(&source->rings.merge);
    source->rings.of_cpus = 0;
}

/* One ring on one CPU. Returns 0 or a negative errno; *mapping says whether it was the memory. */
static int add_ring(struct perf_source *source, pid_t pid, int cpu, size_t size, bool tracks,
                    bool *mapping)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, tracks);
    perf_config_take_switches(&source->config, &attr);
    const int fd = perf_open_dropping(&attr, pid, cpu, -1);
    *mapping = fd >= 0;
    if (fd < 0)
        return fd;
    struct sampler_ring ring;
    const int result = sampler_ring_open(&ring, fd, size);
    if (result) {
        close(fd);
        return result;
    }
    return sampler_merge_add(&source->rings.merge, &ring) ? -ENOMEM : 0;
}

/* Rings of one size on all CPUs. CPUs that went away meanwhile are forgotten. */
static int add_rings(struct perf_source *source, pid_t pid, size_t size, bool *mapping)
{
    for (size_t i = 0; i < source->cpus.count;) {
        const int result = add_ring(source, pid, source->cpus.items[i], size, pid < 0, mapping);
        if (result == -ENODEV && source->cpus.count > 1) {
            source->cpus.items[i] = source->cpus.items[--source->cpus.count];
            continue;
        }
        if (result)
            return result;
        source->rings.of_cpus = ++i;
    }
    return 0;
}

/* The owners of the rings are trackers of everything on each CPU; for events of threads, which
 * track by themselves, events on ourselves. */
static pid_t ring_owner(const struct perf_source *source)
{
    return source->scope == SAMPLER_SCOPE_TASK ? 0 : -1;
}

/* Opens the largest rings there are, and touches nothing else: it may run in another thread. */
static int open_rings(struct perf_source *source, struct sprof_error *error)
{
    const size_t least = perf_config_ring_least(&source->config);
    const size_t limit = source->rings.budget_bytes / source->cpus.count;
    const pid_t pid = ring_owner(source);
    size_t size = perf_config_ring_bytes(&source->config, limit);
    for (;; size /= 2) {
        bool mapping = false;
        const int result = add_rings(source, pid, size, &mapping);
        if (!result)
            break;
        close_rings(source);
        if (!mapping || (result != -EPERM && result != -ENOMEM))
            return perf_explain(0, false, -result, error);
        if (size / 2 < least)
            return perf_explain_rings(size, -result, error);
    }
    return 0;
}

static void fit_rings(struct perf_source *source)
{
    const size_t size = source->rings.merge.rings.items->size;
    perf_config_fit_stack(&source->config, size);
    source->facts.rings = (unsigned)source->rings.of_cpus;
    source->facts.ring_bytes = size * source->rings.of_cpus;
}

/* Decided before the first sampling event is opened. */
static void settle_layout(struct perf_source *source)
{
    perf_config_set_capture(&source->config, source->config.capture);
    source->layouts.items[0] = source->config.layout;
    source->layouts.count = 1;
}

static void explain_no_bpf(struct perf_source *source, int result)
{
    source->programs.missing_why = perf_bpf_reason(result);
    sprof_log_message(source->log, SPROF_LOG_DEBUG, "without BPF: %s (%s)", perf_bpf_reason(result),
                      strerror(-result));
}

static void open_rings_beside(void *context)
{
    struct perf_source *source = context;
    source->rings.result = open_rings(source, &source->rings.error);
}

/* Begins to open rings, which takes the kernel a millisecond each, and then to load programs. */
static void begin_rings_and_filter(struct perf_source *source)
{
    const bool is_machine = source->machine.is_wanted;
    struct perf_filter_wanted wanted = {.follow_forks = !is_machine && !source->members.only_thread,
                                        .choice = is_machine ? &source->machine.choice : NULL,
                                        .tails = perf_stack_tail_wanted(source),
                                        .first = open_rings_beside,
                                        .context = source};
    bool weighs = false;
    for (size_t i = 0; i < source->config.events.count; i++)
        weighs |= source->config.events.items[i].is_weighed;
    for (size_t i = 0; weighs && i < source->cpus.count; i++)
        if ((size_t)source->cpus.items[i] >= wanted.clocks)
            wanted.clocks = (size_t)source->cpus.items[i] + 1;
    source->programs.waited_ns = sprof_proc_waited_ns();
    perf_filter_loading_begin(&source->programs.loading, &wanted);
}

static int end_rings(struct perf_source *source, struct sprof_error *error)
{
    perf_filter_loading_await_first(&source->programs.loading);
    if (source->rings.result && error)
        *error = source->rings.error;
    if (!source->rings.result)
        fit_rings(source);
    return source->rings.result;
}

static void end_filter(struct perf_source *source)
{
    if (!source->programs.wanted)
        return;
    const struct perf_filter_bpf_tails tails = perf_stack_tail_wanted(source);
    const int result =
        perf_filter_loading_end(&source->programs.loading, &tails, &source->programs.filter);
    if (result)
        explain_no_bpf(source, result);
}

static int add_larger_rings(struct perf_source *source, size_t size)
{
    const size_t before = source->rings.merge.rings.count;
    int result = 0;
    for (size_t i = 0; !result && i < source->cpus.count; i++) {
        bool mapping;
        result = add_ring(source, ring_owner(source), source->cpus.items[i], size, false, &mapping);
    }
    for (size_t i = source->rings.merge.rings.count; result && i > before; i--)
        sampler_ring_close(&source->rings.merge.rings.items[--source->rings.merge.rings.count]);
    return result;
}

/* The old rings stay, for what is in them, and count against the budget. */
void perf_source_enlarge_rings(struct perf_source *source, const struct perf_config *config)
{
    const size_t budget = source->rings.budget_bytes, spent = source->facts.ring_bytes;
    struct perf_config whole = *config; /* with the slice that was asked for */
    whole.stack_bytes = whole.stack_bytes_wanted;
    const size_t now = source->rings.merge.rings.items[source->rings.of_events].size;
    const size_t first = source->rings.merge.rings.count;
    size_t size =
        perf_config_ring_bytes(&whole, budget > spent ? (budget - spent) / source->cpus.count : 0);
    if (sprof_vec_reserve(&source->rings.larger, source->rings.larger.count + 1))
        return;
    while (size > now && add_larger_rings(source, size))
        size /= 2;
    if (size <= now)
        return;
    source->rings.larger.items[source->rings.larger.count++] = first;
    source->rings.of_events = first;
    source->facts.rings += (unsigned)source->cpus.count;
    source->facts.ring_bytes += size * source->cpus.count;
}

int perf_source_open_cpu_event(struct perf_source *source, size_t index, uint64_t period)
{
    struct perf_event_attr attr;
    const size_t cpu = perf_source_cpu_of(source, index);
    perf_config_sampling_event(&source->config, perf_source_event_of(source, index), &attr, true,
                               false);
    attr.sample_period = period ? period : attr.sample_period;
    return perf_open_dropping(&attr, -1, source->cpus.items[cpu],
                              source->rings.merge.rings.items[source->rings.of_events + cpu].fd);
}

/* The sampling event for an index of `events`, the next. Where the program cannot be put on it,
 * sprof filters itself. */
static int open_cpu_event(struct perf_source *source, size_t index)
{
    uint64_t period;
    if (perf_jitter_add(source, index, &period))
        return -ENOMEM;
    const int fd = perf_source_open_cpu_event(source, index, period);
    if (fd < 0)
        return fd;
    if (sprof_vec_push(&source->events, fd)) {
        close(fd);
        return -ENOMEM;
    }
    if (perf_jitter_bind(source, fd, index) ||
        perf_source_number_event(source, fd, perf_source_event_of(source, index)))
        return -ENOMEM;
    /* The kernel takes no program on a tracepoint: it samples all that runs, as is wanted. */
    const struct perf_event *event =
        &source->config.events.items[perf_source_event_of(source, index)];
    if (source->programs.filter.programs && !perf_event_is_tracepoint(event) &&
        perf_filter_bpf_attach(&source->programs.filter, fd)) {
        explain_no_bpf(source, -EINVAL);
        perf_filter_bpf_close(&source->programs.filter);
    }
    return 0;
}

static int add_targets(struct perf_source *source)
{
    const pid_t command = target_command(source->target);
    int result = 0;
    if (command)
        result = perf_members_add_process(&source->members, command) ||
                 perf_members_add_thread(&source->members, command, command);
    size_t count;
    const pid_t *pids = target_processes(source->target, &count);
    for (size_t i = 0; i < count; i++)
        result = result || perf_members_add_process(&source->members, pids[i]);
    return result ? SPROF_ENOMEM : 0;
}

/* Leaves the sampling events to settle_cpu_scope: they need the program that is being loaded; and
 * the rings of a command, which runs later. */
static int open_cpu_scope(struct perf_source *source, const struct sampler_options *options,
                          struct sprof_error *error)
{
    settle_layout(source);
    source->scope = SAMPLER_SCOPE_CPU;
    source->programs.wanted = options->minimum_scope <= SAMPLER_SCOPE_CPU_FILTERED;
    if (source->programs.wanted)
        begin_rings_and_filter(source);
    if (source->programs.wanted && target_command(source->target))
        return 0;
    const int result =
        source->programs.wanted ? end_rings(source, error) : open_rings(source, error);
    if (!result && !source->programs.wanted)
        fit_rings(source);
    /* What the processes map is reported before they are looked at. */
    for (size_t i = 0; !result && !target_command(source->target) && i < source->rings.of_cpus; i++)
        perf_event_enable(source->rings.merge.rings.items[i].fd);
    return result;
}

/* A command need not wait until the programs are verified: until then sprof drops what is not the
 * command's, and copies deep stacks itself. Not where CPUs are busy: then it would not come to that
 * in time, and verification takes long. What waits is sampled by programs only, from the beginning.
 */
static bool may_come_later(const struct perf_source *source)
{
    return source->programs.early && source->programs.wanted && !source->machine.is_wanted &&
           target_command(source->target) && source->config.clock == SAMPLER_CLOCK_CPU &&
           source->programs.loading.running &&
           !perf_filter_loading_ended(&source->programs.loading) &&
           sprof_proc_waited_ns() - source->programs.waited_ns < WAITED_NS_MAX;
}

static int settle_cpu_scope(struct perf_source *source, struct sprof_error *error)
{
    const bool rings_come = source->programs.wanted && target_command(source->target);
    const int failed = rings_come ? end_rings(source, error) : 0;
    if (failed)
        return failed;
    source->programs.come = may_come_later(source);
    if (!source->programs.come)
        end_filter(source);
    perf_jitter_open(source);
    if (perf_losses_open(source))
        return sprof_error_memory(error);
    for (size_t i = 0; i < source->cpus.count * source->config.events.count; i++) {
        const int result = open_cpu_event(source, i);
        if (result)
            return perf_explain(0, false, -result, error);
    }
    const bool filtered = source->programs.filter.programs;
    perf_stack_tail_open(source);
    source->scope =
        filtered || source->programs.come ? SAMPLER_SCOPE_CPU_FILTERED : SAMPLER_SCOPE_CPU;
    if (source->machine.is_wanted)
        return 0;
    source->members.trust = filtered ? PERF_TRUST_SAMPLES : PERF_TRUST_NOTHING;
    if (target_command(source->target))
        return filtered &&
                       perf_filter_bpf_add(&source->programs.filter, target_command(source->target))
                   ? sprof_error_memory(error)
                   : 0;
    return filtered ? perf_attach_filter(source, error) : 0;
}

static bool kernel_allowed(void)
{
    struct perf_event_attr attr;
    perf_config_kernel_clock(&attr);
    const int fd = perf_open_dropping(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd != -EACCES && fd != -EPERM;
}

/* One of the events of the command, on each CPU. */
static int open_command_event(struct perf_source *source, size_t number)
{
    struct perf_event_attr attr;
    perf_config_sampling_event(&source->config, number, &attr, false, number == 0);
    attr.inherit = 1;
    attr.enable_on_exec = 1;
    for (size_t i = 0; i < source->cpus.count; i++) {
        const int fd =
            perf_open_dropping(&attr, target_command(source->target), source->cpus.items[i],
                               source->rings.merge.rings.items[i].fd);
        if (fd < 0)
            return fd;
        if (sprof_vec_push(&source->events, fd)) {
            close(fd);
            return -ENOMEM;
        }
        if (perf_source_number_event(source, fd, number))
            return -ENOMEM;
    }
    return 0;
}

/* The events of the command start at its execve and are inherited by all it starts. */
static int open_command_events(struct perf_source *source, struct sprof_error *error)
{
    for (size_t i = 0; i < source->config.events.count; i++) {
        const int result = open_command_event(source, i);
        if (result)
            return perf_explain(0, false, -result, error);
    }
    return 0;
}

static int open_task_scope(struct perf_source *source, const struct sampler_options *options,
                           struct sprof_error *error)
{
    settle_layout(source);
    if (!source->config.exclude_kernel && !kernel_allowed()) {
        const int refused = perf_config_exclude_kernel(&source->config, error);
        if (refused)
            return refused;
        perf_explain_kernel_excluded(source->facts.kernel_excluded_why,
                                     sizeof source->facts.kernel_excluded_why);
        settle_layout(source);
    }
    source->scope = SAMPLER_SCOPE_TASK;
    const int result = open_rings(source, error);
    if (result)
        return result;
    fit_rings(source);
    if (options->minimum_scope < SAMPLER_SCOPE_TASK && !perf_config_has_tracepoint(&source->config))
        explain_no_bpf(source, -EPERM);
    perf_stack_tail_open(source);
    source->members.trust = PERF_TRUST_ALL;
    return target_command(source->target) ? open_command_events(source, error)
                                          : perf_attach_tasks(source, error);
}

/* Whether events on whole CPUs are permitted. */
static bool cpu_scope_allowed(const struct perf_source *source)
{
    struct perf_event_attr attr;
    perf_config_sampling_event(&source->config, 0, &attr, true, false);
    const int fd = perf_open_dropping(&attr, -1, source->cpus.items[0], -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Whole CPUs or nothing: samples of all that runs, from events of any kind. */
static int open_machine(struct perf_source *source, const struct sampler_options *options,
                        struct sprof_error *error)
{
    const int result = perf_machine_open(source, &options->choice, error);
    if (result)
        return result;
    if (!cpu_scope_allowed(source))
        return perf_explain_all_cpus(error);
    return open_cpu_scope(source, options, error);
}

int perf_source_open_events(struct perf_source *source, const struct sampler_options *options,
                            struct sprof_error *error)
{
    raise_file_limit();
    source->rings.budget_bytes =
        options->ring_budget_bytes ? options->ring_budget_bytes : DEFAULT_BUDGET_BYTES;
    if (sprof_proc_online_cpus(&source->cpus))
        return sprof_error_memory(error);
    source->facts.cpus = (unsigned)source->cpus.count;
    if (source->machine.is_wanted)
        return open_machine(source, options, error);
    if (add_targets(source))
        return sprof_error_memory(error);
    /* On whole CPUs a tracepoint would bring what all processes do: no program can filter it. */
    const bool cpu_scope = options->minimum_scope < SAMPLER_SCOPE_TASK &&
                           !perf_config_has_tracepoint(&source->config) &&
                           cpu_scope_allowed(source);
    return cpu_scope ? open_cpu_scope(source, options, error)
                     : open_task_scope(source, options, error);
}

int perf_source_settle_events(struct perf_source *source, struct sprof_error *error)
{
    const int result = source->scope == SAMPLER_SCOPE_TASK ? 0 : settle_cpu_scope(source, error);
    return result || source->machine.is_wanted ? result : perf_attach_counters(source, error);
}
