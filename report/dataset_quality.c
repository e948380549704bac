/* Adds up the quality of the runs of a dataset, of the event that was chosen. */
#include "report/dataset_parts.h"
#include "store/store.h"

#include <math.h>
#include <string.h>

bool report_dataset_has_event(const struct report_dataset *dataset, uint32_t run_id)
{
    bool has = dataset->all_events || !dataset->event.id;
    for (size_t i = 0; i < dataset->events.count && !has; i++)
        has = dataset->events.items[i].run_id == run_id &&
              report_dataset_takes_event(dataset, dataset->events.items[i].id);
    return has;
}

bool report_dataset_mixes_events(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->events.count && dataset->all_events; i++)
        if (strcmp(dataset->events.items[i].name, dataset->event.name) != 0)
            return true;
    return false;
}

/* The rate that was asked of an event; 0: it has a period, or counts one mode of the CPU alone, so
 * that its samples come at no rate of CPU time. `run_hz`: of the run's events that have
 * none of their own; `alone`: there is no other event. */
static double requested_hz(const struct store_event *event, double run_hz, bool alone)
{
    if (model_event_of_one_mode(event->name) || model_event_wait(event->name))
        return 0;
    if (!event->is_clock)
        return alone && event->varying ? run_hz : 0;
    if (alone || !event->period || (run_hz > 0 && event->period == (uint64_t)(1e9 / run_hz)))
        return run_hz;
    return event->varying ? round(1e9 / (double)event->period) : 0;
}

/* Makes samples and losses of a run those of the chosen events: each has its own in the ledger. */
static int narrow_to_events(struct report_loading *loading, uint32_t run_id,
                            struct store_quality *quality, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    const struct store_event *last = NULL;
    struct store_event_quality own, sum = {0};
    size_t count = 0, chosen = 0;
    if (dataset->all_events || !dataset->event.id)
        return 0;
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        count += event->run_id == run_id;
        if (event->run_id != run_id || !report_dataset_takes_event(dataset, event->id))
            continue;
        last = event;
        chosen++;
        const int result = store_event_quality(loading->store, event->id, &own, error);
        if (result)
            return result;
        sum.seconds += own.seconds;
        sum.samples += own.samples;
        sum.lost += own.lost;
    }
    if (!last || !sum.seconds)
        return 0;
    quality->requested_hz = chosen == 1 ? requested_hz(last, quality->requested_hz, count == 1) : 0;
    if (count == chosen)
        return 0;
    loading->dataset->samples_of_others +=
        quality->samples > sum.samples ? quality->samples - sum.samples : 0;
    quality->samples = sum.samples;
    quality->lost = sum.lost;
    if (quality->target_cpu_ns)
        quality->reached_hz = (double)sum.samples * 1e9 / (double)quality->target_cpu_ns;
    return 0;
}

static int add_crowd(void *context, const struct store_counter *row)
{
    struct report_crowd *crowd = context;
    if (!strcmp(row->name, STORE_TARGET_READY))
        crowd->ready_ns += row->value;
    else if (!strcmp(row->name, STORE_MACHINE_CPU))
        crowd->machine_ns += row->value;
    else if (!strcmp(row->name, STORE_MACHINE_BUSY))
        crowd->busy_ns += row->value;
    return 0;
}

int report_dataset_load_quality(struct report_loading *loading, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    struct store_quality *sum = &loading->dataset->quality;
    for (size_t i = 0; i < dataset->runs.count; i++) {
        const uint32_t run_id = dataset->runs.items[i].id;
        const struct store_quality before = *sum;
        struct store_quality one;
        if (!report_dataset_has_event(dataset, run_id))
            continue;
        int result = store_quality(loading->store, run_id, &one, error);
        if (!result)
            result = narrow_to_events(loading, run_id, &one, error);
        if (!result)
            result = store_each_counter(loading->store, run_id, add_crowd, &loading->dataset->crowd,
                                        error);
        if (result)
            return result;
        *sum = one;
        sum->samples += before.samples;
        sum->lost += before.lost;
        sum->user_stacks += before.user_stacks;
        sum->whole_stacks += before.whole_stacks;
        sum->stitched += before.stitched;
        sum->guessed_frames += before.guessed_frames;
        sum->frames += before.frames;
        sum->named_frames += before.named_frames;
        sum->own_cpu_ns += before.own_cpu_ns;
        sum->target_cpu_ns += before.target_cpu_ns;
        sum->tails_dropped += before.tails_dropped;
        sum->has_user_stacks = one.has_user_stacks || before.has_user_stacks;
        sum->killed = one.killed || before.killed;
    }
    return 0;
}
