/* Changes what events do while they run: pauses them, changes their rate, and replaces them by
 * others that carry more or less. */
#include "sampler/perf/perf_source.h"
#include "sampler/perf/permission.h"

#include <errno.h>
#include <unistd.h>

/* == Pausing == */

int perf_control_pause(struct source *opened, bool paused, struct sprof_error *error)
{
    struct perf_source *source = (struct perf_source *)opened;
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (source->pauses.now == paused)
        return 0;
    if (perf_filter_arrival_take(source))
        return sprof_error_memory(error);
    /* Events of threads also report mappings and forks, which must not be missed: they go on, and
     * their samples are dropped. */
    if (source->scope == SAMPLER_SCOPE_TASK) {
        if (paused && sprof_vec_reserve(&source->pauses.items, source->pauses.items.count + 1))
            return sprof_error_memory(error);
        if (paused)
            source->pauses.items.items[source->pauses.items.count++] =
                (struct perf_pause){now_ns, UINT64_MAX};
        else
            source->pauses.items.items[source->pauses.items.count - 1].end_ns = now_ns;
    }
    if (perf_switches_pause(&source->switches, paused, now_ns))
        return sprof_error_memory(error);
    source->pauses.now = paused;
    if (source->scope != SAMPLER_SCOPE_TASK)
        for (size_t i = 0; i < source->events.count; i++)
            perf_jitter_pause(source, i, paused);
    perf_machine_count(source, !paused);
    if (paused)
        perf_counters_disable(&source->counters);
    else
        perf_counters_enable(&source->counters);
    return 0;
}

/* == Replacing events == */

static void close_all(struct sprof_id_list *fds)
{
    for (size_t i = 0; i < fds->count; i++)
        close(fds->items[i]);
    sprof_vec_release(fds);
}

/* Opens the events of `config` on each CPU, disabled, beside the events that run. */
static int open_others(struct perf_source *source, int layout, struct sprof_id_list *fds)
{
    int result = 0;
    for (size_t i = 0; !result && i < source->events.count; i++) {
        const int fd = perf_source_open_cpu_event(source, i, 0);
        if (fd < 0)
            return fd;
        if (sprof_vec_push(fds, fd)) {
            close(fd);
            return -ENOMEM;
        }
        if (perf_jitter_bind(source, fd, i) ||
            perf_source_number_event(source, fd, perf_source_event_of(source, i)) ||
            sampler_layouts_bind(&source->layouts, perf_event_id(fd), layout))
            return -ENOMEM;
        if (source->programs.filter.programs)
            result = perf_filter_bpf_attach(&source->programs.filter, fd);
    }
    return result;
}

static int replace_cpu_events(struct perf_source *source, const struct perf_config *config,
                              int layout)
{
    const struct perf_config former = source->config;
    source->config = *config;
    struct sprof_id_list others = {0};
    const int result = open_others(source, layout, &others);
    if (result) {
        close_all(&others);
        source->config = former;
        return result;
    }
    for (size_t i = 0; i < others.count; i++) {
        const int former_fd = source->events.items[i];
        perf_jitter_replace(source, i, others.items[i]);
        perf_losses_close_event(source, i, former_fd);
        close(former_fd);
    }
    sprof_vec_release(&others);
    return 0;
}

/* Replaces the events by those of `config`. What the old ones wrote stays in the rings. */
static int replace_events(struct perf_source *source, const struct perf_config *config,
                          struct sprof_error *error)
{
    const int layout = sampler_layouts_add(&source->layouts, config->layout);
    const int result = source->scope == SAMPLER_SCOPE_TASK
                           ? perf_attach_again(source, config, layout)
                           : replace_cpu_events(source, config, layout);
    return result ? perf_explain(0, false, -result, error) : 0;
}

static int settle(struct perf_source *source, int result)
{
    if (!result) {
        source->batch.interval_ns = perf_source_batch_interval_ns(source);
        perf_source_state_facts(source);
    }
    return result;
}

/* Whether a new rate of `config` changes periods of clocks on CPUs, and nothing else. */
static bool changes_clocks_alone(const struct perf_source *source, const struct perf_config *config)
{
    for (size_t i = 0; i < config->events.count; i++)
        if (perf_config_follows(&config->events.items[i]) && !config->events.items[i].is_clock)
            return false;
    return source->scope != SAMPLER_SCOPE_TASK;
}

int perf_control_rate(struct source *opened, uint64_t frequency_hz, struct sprof_error *error)
{
    struct perf_source *source = (struct perf_source *)opened;
    struct perf_config config = source->config;
    int result = perf_config_set_rate(&config, frequency_hz, error);
    if (result)
        return result;
    if (perf_filter_arrival_take(source))
        return sprof_error_memory(error);
    if (!changes_clocks_alone(source, &config))
        return settle(source, replace_events(source, &config, error));
    source->config = config;
    for (size_t i = 0; i < source->events.count; i++)
        if (perf_config_follows(&config.events.items[perf_source_event_of(source, i)]))
            perf_jitter_rate(source, i);
    return settle(source, 0);
}

int perf_control_slice(struct source *opened, size_t stack_bytes, struct sprof_error *error)
{
    struct perf_source *source = (struct perf_source *)opened;
    struct perf_config config = source->config;
    if (!config.layout.has_stack)
        return 0;
    if (perf_filter_arrival_take(source))
        return sprof_error_memory(error);
    perf_config_set_slice(&config, stack_bytes);
    perf_config_fit_stack(&config, source->rings.merge.rings.items[source->rings.of_events].size);
    return config.stack_bytes == source->config.stack_bytes
               ? 0
               : settle(source, replace_events(source, &config, error));
}

int perf_control_capture(struct source *opened, enum sampler_capture capture,
                         struct sprof_error *error)
{
    struct perf_source *source = (struct perf_source *)opened;
    struct perf_config config = source->config;
    if (capture == source->config.capture)
        return 0;
    if (perf_filter_arrival_take(source))
        return sprof_error_memory(error);
    perf_config_set_capture(&config, capture);
    perf_source_enlarge_rings(source, &config);
    perf_config_fit_stack(&config, source->rings.merge.rings.items[source->rings.of_events].size);
    const int result = settle(source, replace_events(source, &config, error));
    if (!result)
        perf_stack_tail_begin(source);
    return result;
}
