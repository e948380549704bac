/* The source of perf events: opens them, starts and stops them, and says what they are. */
#include "sampler/perf/perf_source.h"
#include "sampler/off_cpu/off_cpu_source.h"
#include "sampler/perf/permission.h"
#include "sampler/waiting/waiting_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct perf_source *perf_of(struct source *source)
{
    return (struct perf_source *)source;
}

/* == Opening == */

/* The timer of a clock event runs at one period, whatever was requested, until we change it. */
static int perf_events(const struct source *opened, struct sampler_event_list *list)
{
    const struct perf_source *source = (const struct perf_source *)opened;
    const struct perf_config *config = &source->config;
    const bool wall = config->clock == SAMPLER_CLOCK_WALL;
    int result = 0;
    for (size_t i = 0; i < config->events.count && !result; i++) {
        const struct perf_event *event = &config->events.items[i];
        const bool has_rate = perf_config_frequency(config, event) != 0;
        struct sampler_event one = {
            .is_clock = event->is_clock,
            .varying_period =
                wall || (has_rate && (!event->is_clock || source->thread_events.generations.count ||
                                      perf_jitter_varies(source, event))),
            .follows_rate = perf_config_follows(event),
            .kernel_excluded = config->exclude_kernel || event->exclude_kernel,
            .user_excluded = event->exclude_user,
            .period = perf_config_period(config, event),
            .fields = event->fields.items,
            .field_count = event->fields.count,
        };
        if (event->weight_field.bytes) {
            one.varying_period = true;
            one.period = 0;
        }
        one.due_ns = event->is_clock && !wall && !event->exclude_user ? one.period : 0;
        snprintf(one.name, sizeof one.name, "%s", event->name);
        result = sprof_vec_push(list, one);
    }
    return !result && source->switches.wanted ? perf_switches_events(list) : result;
}

static void perf_free(struct source *opened)
{
    struct perf_source *source = perf_of(opened);
    perf_filter_loading_give_up(&source->programs.loading);
    perf_early_copies_end(source);
    perf_filter_loading_cancel(&source->programs.loading);
    for (size_t i = 0; i < source->events.count; i++)
        close(source->events.items[i]);
    for (size_t i = 0; i < source->trackers.count; i++)
        close(source->trackers.items[i]);
    sprof_vec_release(&source->events);
    sprof_vec_release(&source->trackers);
    sprof_vec_release(&source->losses.events);
    sprof_vec_release(&source->rings.larger);
    sprof_vec_release(&source->cpus);
    perf_stack_tail_bpf_close(&source->tails.bpf);
    sampler_stack_ends_close(&source->tails.found.ends);
    sampler_stack_mapper_free(source->tails.mapper);
    perf_filter_bpf_close(&source->programs.filter);
    perf_counters_release(&source->counters);
    sampler_merge_release(&source->rings.merge);
    sampler_layouts_release(&source->layouts);
    sampler_stack_tail_copies_release(&source->tails.copies);
    perf_members_release(&source->members);
    sprof_map_release(&source->machine.chosen);
    sprof_vec_release(&source->machine.idle);
    sprof_vec_release(&source->end_records.items);
    sprof_vec_release(&source->jitter.clocks);
    sprof_vec_release(&source->following.items);
    sprof_map_release(&source->event_numbers);
    perf_config_release(&source->config);
    perf_switches_release(&source->switches);
    perf_hotplug_release(&source->hotplug);
    sprof_vec_release(&source->pauses.items);
    sprof_map_release(&source->jitter.event_index);
    sprof_map_release(&source->thread_events.event_tid);
    sprof_map_release(&source->thread_events.tids);
    sprof_map_release(&source->taken_in.tids);
    sprof_map_release(&source->thread_events.event_generation);
    sprof_map_release(&source->thread_events.told);
    sprof_vec_release(&source->thread_events.generations);
    sprof_map_release(&source->taken_in.tids_with_counter);
    sprof_map_release(&source->taken_in.cpu_before_start);
    free(source->buffer);
    free(source);
}

static int open_parts(struct perf_source *source, const struct source_request *request,
                      struct sprof_error *error)
{
    source->members.command = source->machine.is_wanted ? 0 : target_command(source->target);
    source->members.everyone = source->machine.is_wanted;
    source->members.only_thread = target_thread(source->target);
    source->buffer = aligned_alloc(8, SAMPLER_RING_RECORD_MAX);
    if (!source->buffer)
        return sprof_error_memory(error);
    return perf_source_open_events(source, request->options, error);
}

static int perf_open_source(struct source **opened, const struct source_request *request,
                            struct sprof_error *error)
{
    struct perf_config config;
    int result = perf_config_make(&config, request->options, error);
    if (result)
        return result;
    struct perf_source *source = calloc(1, sizeof *source);
    if (!source) {
        perf_config_release(&config);
        return sprof_error_memory(error);
    }
    source->source.kind = &perf_source_kind;
    source->config = config;
    source->target = request->target;
    source->log = request->log;
    source->pauses.now = request->options->paused;
    source->programs.early = request->options->early;
    perf_switches_open(&source->switches, request->options);
    source->machine.is_wanted = request->options->all_cpus;
    source->programs.filter = PERF_FILTER_BPF_NONE;
    source->tails.bpf = PERF_STACK_TAIL_BPF_NONE;
    source->taken_in.spare_fds[0] = source->taken_in.spare_fds[1] = -1;
    result = open_parts(source, request, error);
    source->log = NULL;
    if (result) {
        perf_free(&source->source);
        return result;
    }
    if (source->pauses.now &&
        (perf_switches_pause(&source->switches, true, 0) ||
         (source->scope == SAMPLER_SCOPE_TASK &&
          sprof_vec_push(&source->pauses.items, (struct perf_pause){0, UINT64_MAX})))) {
        perf_free(&source->source);
        return sprof_error_memory(error);
    }
    perf_source_state_facts(source);
    *opened = &source->source;
    return 0;
}

static int perf_settle(struct source *opened, const struct sprof_log *log,
                       struct sprof_error *error)
{
    struct perf_source *source = perf_of(opened);
    source->log = log;
    const int result = perf_source_settle_events(source, error);
    source->log = NULL;
    if (result)
        return result;
    source->batch.interval_ns = perf_source_batch_interval_ns(source);
    perf_source_state_facts(source);
    return 0;
}

/* == Running == */

static void for_each_event(struct perf_source *source, void (*act)(int fd))
{
    const bool samples = !source->pauses.now || source->scope == SAMPLER_SCOPE_TASK;
    for (size_t i = 0; samples && i < source->events.count; i++)
        act(source->events.items[i]);
    for (size_t i = 0; i < source->trackers.count; i++)
        act(source->trackers.items[i]);
    if (source->scope != SAMPLER_SCOPE_TASK) /* there the rings' owners are the trackers */
        for (size_t i = 0; i < source->rings.of_cpus; i++)
            act(source->rings.merge.rings.items[i].fd);
}

static int perf_start(struct source *opened, struct sprof_error *error)
{
    (void)error;
    struct perf_source *source = perf_of(opened);
    const bool launches = target_command(source->target) != 0;
    if (source->programs.come)
        perf_early_copies_begin(source);
    /* The events of a command in task scope begin with its execve. */
    if (!launches || source->scope != SAMPLER_SCOPE_TASK)
        for_each_event(source, perf_event_enable);
    if (!launches && !source->pauses.now)
        perf_counters_enable(&source->counters);
    perf_jitter_start(source);
    source->progress.start_ns = source->switches.start_ns = sprof_clock_monotonic_ns();
    source->switches.command = target_command(source->target);
    perf_machine_count(source, !source->pauses.now);
    return 0;
}

static void perf_stop(struct source *opened)
{
    struct perf_source *source = perf_of(opened);
    perf_filter_arrival_give_up(source);
    for_each_event(source, perf_event_disable);
    perf_counters_disable(&source->counters);
    perf_machine_count(source, false);
    source->progress.stopped = true;
    source->members.command_runs_ns = target_started_ns(source->target);
    sampler_merge_refresh(&source->rings.merge);
    source->progress.seen_ns = sprof_clock_monotonic_ns();
    source->progress.horizon_ns = UINT64_MAX;
}

/* == Queries == */

static void perf_facts(const struct source *opened, struct sampler_facts *facts)
{
    const struct perf_source *source = (const struct perf_source *)opened;
    const struct sampler_facts general = *facts;
    *facts = source->facts;
    facts->command_pid = general.command_pid;
    memcpy(facts->source_why, general.source_why, sizeof facts->source_why);
    memcpy(facts->source_cure, general.source_cure, sizeof facts->source_cure);
    facts->source_gain = general.source_gain;
}

static void perf_count(const struct source *opened, struct sampler_counters *counters)
{
    const struct sampler_counters *mine = &((const struct perf_source *)opened)->counts;
    counters->records += mine->records;
    counters->samples += mine->samples;
    counters->foreign_samples += mine->foreign_samples;
    counters->lost += mine->lost;
    counters->lost_others += mine->lost_others;
    counters->copied_records += mine->copied_records;
    counters->unknown_records += mine->unknown_records;
    counters->bytes += mine->bytes;
    counters->tails += mine->tails;
    counters->tails_with_sample += mine->tails_with_sample;
    counters->tails_dropped +=
        perf_stack_tail_bpf_dropped(&((const struct perf_source *)opened)->tails.bpf);
}

static uint64_t perf_cpu_ns(struct source *opened)
{
    struct perf_source *source = perf_of(opened);
    if (source->machine.is_wanted)
        return perf_machine_cpu_ns(source);
    return source->taken_in.counters_full ? 0 : perf_counters_total_ns(&source->counters);
}

static int perf_each_idle(struct source *opened,
                          int (*each)(void *context, const struct sampler_cpu_idle *idle),
                          void *context)
{
    return perf_machine_each_idle(perf_of(opened), each, context);
}

static const struct source_kind *const beside[] = {&sampler_waiting_kind, &sampler_off_cpu_kind,
                                                   NULL};

const struct source_kind perf_source_kind = {
    .name = "perf",
    .in_child = perf_warm_up,
    .open = perf_open_source,
    .settle = perf_settle,
    .facts = perf_facts,
    .events = perf_events,
    .start = perf_start,
    .stop = perf_stop,
    .wait_for = perf_batch_wait_for,
    .look = perf_batch_look,
    .next_time = perf_record_next_time,
    .take = perf_record_take,
    .weigh = perf_jitter_weigh,
    .cpu_ns = perf_cpu_ns,
    .each_idle = perf_each_idle,
    .thread_cpu_ns = perf_end_records_thread_cpu_ns,
    .count = perf_count,
    .stack_end = perf_stack_tail_learn,
    .set_paused = perf_control_pause,
    .set_rate = perf_control_rate,
    .set_capture = perf_control_capture,
    .set_slice = perf_control_slice,
    .free = perf_free,
    .beside = beside,
};
