/* Separates lost samples from lost mappings, forks and names.
 *
 * A LOST record counts all that its ring had no room for. Since Linux 6.0 each event counts how
 * much of its own that was; of the event that samples a CPU, that is samples alone. */
#include "sampler/perf/perf_source.h"

/* Samples of the event at an index that were lost, in no record so far. */
static bool untold(const struct perf_source *source, size_t index, uint64_t *count)
{
    uint64_t lost;
    if (!perf_event_lost(source->events.items[index], &lost))
        return false;
    const struct perf_loss *loss = &source->losses.events.items[index];
    lost += loss->of_closed;
    *count = lost > loss->told ? lost - loss->told : 0;
    return true;
}

static bool is_known(const struct perf_source *source)
{
    return source->scope != SAMPLER_SCOPE_TASK && source->losses.events.count &&
           source->losses.events.count == source->events.count;
}

int perf_losses_open(struct perf_source *source)
{
    const struct perf_loss none = {0};
    while (source->losses.events.count < source->cpus.count * source->config.events.count)
        if (sprof_vec_push(&source->losses.events, none))
            return SPROF_ENOMEM;
    return 0;
}

void perf_losses_close_event(struct perf_source *source, size_t index, int fd)
{
    uint64_t lost = 0;
    perf_event_lost(fd, &lost);
    source->losses.of_closed += lost;
    if (index < source->losses.events.count)
        source->losses.events.items[index].of_closed += lost;
}

/* The index of a ring's CPU; SIZE_MAX: it is a counter's. */
static size_t cpu_of(const struct perf_rings *rings, size_t cpus, size_t ring)
{
    if (ring < rings->of_cpus)
        return ring;
    for (size_t i = 0; i < rings->larger.count; i++) {
        const size_t first = rings->larger.items[i];
        if (ring >= first && ring - first < cpus)
            return ring - first;
    }
    return SIZE_MAX;
}

/* Of the samples that events on a CPU lost, at most `most`, for they may have lost more since:
 * those of the first that lost any become the record's, those of others records that follow. */
static int tell_samples(struct perf_source *source, size_t cpu, uint64_t most,
                        struct model_record *record)
{
    struct model_record one = *record;
    bool told = false;
    uint64_t left = most;
    record->lost.count = 0;
    for (size_t event = 0; event < source->config.events.count; event++) {
        const size_t index = event * source->cpus.count + cpu;
        uint64_t samples = 0;
        if (!untold(source, index, &samples) || !samples || !left)
            continue;
        samples = samples < left ? samples : left;
        left -= samples;
        source->losses.events.items[index].told += samples;
        one.lost.count = samples;
        one.event = (uint32_t)event;
        if (!told)
            *record = one;
        else if (sprof_vec_push(&source->following.items, one))
            return SPROF_ENOMEM;
        told = true;
    }
    source->counts.lost_others += left;
    return 0;
}

int perf_losses_tell(struct perf_source *source, size_t ring, struct model_record *record)
{
    uint64_t samples;
    const size_t cpu = cpu_of(&source->rings, source->cpus.count, ring);
    if (cpu == SIZE_MAX) {
        source->counts.lost_others += record->lost.count;
        record->lost.count = 0;
        return 0;
    }
    source->losses.told += record->lost.count;
    if (!is_known(source) || cpu >= source->losses.events.count || !untold(source, cpu, &samples))
        return 0;
    return tell_samples(source, cpu, record->lost.count, record);
}

static uint64_t lost_of(const struct sprof_id_list *fds)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < fds->count; i++) {
        uint64_t lost = 0;
        perf_event_lost(fds->items[i], &lost);
        sum += lost;
    }
    return sum;
}

/* Of everything, by all events. */
static uint64_t all_untold(const struct perf_source *source)
{
    uint64_t all = source->losses.of_closed + lost_of(&source->events) + lost_of(&source->trackers);
    for (size_t i = 0; i < source->rings.of_cpus; i++) {
        uint64_t lost = 0;
        perf_event_lost(source->rings.merge.rings.items[i].fd, &lost);
        all += lost;
    }
    return all > source->losses.told ? all - source->losses.told : 0;
}

void perf_losses_at_the_end(struct perf_source *source, uint64_t *lost)
{
    const uint64_t all = all_untold(source);
    uint64_t samples = 0, one;
    bool known = is_known(source);
    for (size_t i = 0; i < source->losses.events.count && known; i++)
        known = untold(source, i, &one);
    if (!known) { /* of which event is not known either */
        lost[0] += all;
        return;
    }
    for (size_t i = 0; i < source->losses.events.count; i++) {
        untold(source, i, &one);
        lost[perf_source_event_of(source, i)] += one;
        samples += one;
    }
    source->counts.lost_others += all > samples ? all - samples : 0;
}
