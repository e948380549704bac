/* Changes the periods of clock events from time to time, so that work which repeats at exactly the
 * sampling interval is not always met at the same place. */
#include "sampler/perf/perf_source.h"

#include <sys/random.h>

enum {
    JITTER_INTERVAL_NS = 100000000,
    JITTER_CPU_FRACTION = 100, /* of a CPU may be spent in such calls */
};

static const struct perf_event *event_at(const struct perf_source *source, size_t index)
{
    return &source->config.events.items[perf_source_event_of(source, index)];
}

static uint64_t cpu_at(const struct perf_source *source, size_t index)
{
    return (uint64_t)source->cpus.items[perf_source_cpu_of(source, index)];
}

void perf_jitter_open(struct perf_source *source)
{
    source->jitter.is_on = true;
    if (getrandom(&source->jitter.random, sizeof source->jitter.random, GRND_NONBLOCK) < 0 ||
        !source->jitter.random)
        source->jitter.random = sprof_clock_monotonic_ns() | 1;
}

bool perf_jitter_varies(const struct perf_source *source, const struct perf_event *event)
{
    return source->jitter.is_on && event->is_clock && perf_config_frequency(&source->config, event);
}

static bool varies(const struct perf_source *source, size_t index)
{
    return perf_jitter_varies(source, event_at(source, index));
}

static uint64_t next_period(struct perf_source *source, size_t index, struct perf_clock *clock)
{
    const uint64_t period = perf_config_period(&source->config, event_at(source, index));
    return varies(source, index) ? perf_clock_jitter(clock, period, &source->jitter.random)
                                 : period;
}

int perf_jitter_add(struct perf_source *source, size_t index, uint64_t *period)
{
    struct perf_clock clock = {0};
    clock.period_ns = *period = next_period(source, index, &clock);
    return sprof_vec_push(&source->jitter.clocks, clock);
}

int perf_jitter_bind(struct perf_source *source, int fd, size_t index)
{
    return sprof_map_put(&source->jitter.event_index, perf_event_id(fd), index);
}

void perf_jitter_start(struct perf_source *source)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < source->jitter.clocks.count; i++) {
        struct perf_clock *clock = &source->jitter.clocks.items[i];
        perf_clock_start(clock, now_ns, source->pauses.now ? 0 : clock->period_ns);
    }
    source->jitter.next_ns = now_ns + JITTER_INTERVAL_NS;
}

/* All samples older than the first that was not read have been weighed. */
static void settle(const struct perf_source *source, struct perf_clock *clock)
{
    uint64_t first_ns;
    const bool unread = sampler_merge_first(&source->rings.merge, &first_ns) != NULL;
    perf_clock_settle(clock, unread && first_ns < source->progress.horizon_ns
                                 ? first_ns
                                 : source->progress.horizon_ns);
}

static void note(struct perf_source *source, size_t index, uint64_t before_ns, uint64_t period_ns)
{
    struct perf_clock *clock = &source->jitter.clocks.items[index];
    if (!perf_clock_has_room(clock))
        settle(source, clock);
    perf_clock_change(clock, before_ns, sprof_clock_monotonic_ns(), period_ns);
}

/* Right before the call that changes a period; its time. */
static uint64_t begin_change(const struct perf_source *source, size_t index)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (event_at(source, index)->is_weighed)
        perf_filter_bpf_note_change(&source->programs.filter, cpu_at(source, index), now_ns);
    return now_ns;
}

void perf_jitter_rate(struct perf_source *source, size_t index)
{
    const uint64_t period_ns = next_period(source, index, &source->jitter.clocks.items[index]);
    const uint64_t before_ns = begin_change(source, index);
    if (!perf_event_set_period(source->events.items[index], period_ns))
        note(source, index, before_ns, source->pauses.now ? 0 : period_ns);
}

void perf_jitter_pause(struct perf_source *source, size_t index, bool paused)
{
    const int fd = source->events.items[index];
    if (paused) {
        const uint64_t before_ns = sprof_clock_monotonic_ns();
        perf_event_disable(fd);
        note(source, index, before_ns, 0);
        return;
    }
    const uint64_t period_ns = next_period(source, index, &source->jitter.clocks.items[index]);
    if (varies(source, index))
        perf_event_set_period(fd, period_ns);
    if (event_at(source, index)->is_weighed)
        perf_filter_bpf_begin_anew(&source->programs.filter, cpu_at(source, index));
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    perf_event_enable(fd);
    note(source, index, before_ns, period_ns);
}

void perf_jitter_replace(struct perf_source *source, size_t index, int fd)
{
    const uint64_t period_ns = next_period(source, index, &source->jitter.clocks.items[index]);
    if (varies(source, index))
        perf_event_set_period(fd, period_ns);
    const uint64_t before_ns = begin_change(source, index);
    perf_event_disable(source->events.items[index]);
    source->events.items[index] = fd;
    if (source->pauses.now)
        return;
    perf_event_enable(fd);
    note(source, index, before_ns, period_ns);
}

void perf_jitter_look(struct perf_source *source, uint64_t now_ns)
{
    if (!source->jitter.is_on || source->pauses.now || now_ns < source->jitter.next_ns)
        return;
    for (size_t i = 0; i < source->jitter.clocks.count; i++) {
        struct perf_clock *clock = &source->jitter.clocks.items[i];
        if (!varies(source, i))
            continue;
        if (!perf_clock_has_room(clock))
            settle(source, clock);
        if (clock->delivered && perf_clock_has_room(clock))
            perf_jitter_rate(source, i);
    }
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    const uint64_t pause_ns = (end_ns - now_ns) * JITTER_CPU_FRACTION;
    source->jitter.next_ns =
        end_ns + (pause_ns > JITTER_INTERVAL_NS ? pause_ns : JITTER_INTERVAL_NS);
}

void perf_jitter_weigh(struct source *opened, struct model_sample *sample, uint64_t time_ns)
{
    struct perf_source *source = (struct perf_source *)opened;
    const uint64_t *index = source->jitter.is_on
                                ? sprof_map_get(&source->jitter.event_index, source->sample_event)
                                : NULL;
    if (sample->pseudo || !index || !varies(source, *index))
        return;
    struct perf_clock *clock = &source->jitter.clocks.items[*index];
    const uint64_t in_time_ns = perf_clock_weigh(clock, time_ns);
    sample->weight = in_time_ns;
    if (event_at(source, *index)->is_weighed)
        perf_filter_bpf_weigh(&source->programs.filter, cpu_at(source, *index), time_ns,
                              &clock->weighed, &sample->weight);
    sample->late = (int64_t)(sample->weight - in_time_ns);
}
