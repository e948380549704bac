/* Adds up the quality of the runs of a dataset, of the event that was chosen. */
#include "report/dataset_parts.h"

#include <math.h>
#include <string.h>

bool report_dataset_has_event(const struct report_dataset *dataset, uint32_t run_id)
{
    bool has = dataset->all_events || !dataset->event.id;
    for (size_t i = 0; i < dataset->events.count && !has; i++)
        has = dataset->events.items[i].run_id == run_id &&
              !strcmp(dataset->events.items[i].name, dataset->event.name);
    return has;
}

/* Whether an event leaves out one of the modes, so that its samples come at no rate of CPU time. */
static bool is_of_one_mode(const struct store_event *event)
{
    const char *modifier = strrchr(event->name, ':');
    return modifier && (!strcmp(modifier, ":u") || !strcmp(modifier, ":k"));
}

/* The rate that was asked of an event; 0: it has a period. `run_hz`: of the run's events that have
 * none of their own; `alone`: there is no other event. */
static double requested_hz(const struct store_event *event, double run_hz, bool alone)
{
    if (is_of_one_mode(event))
        return 0;
    if (!event->is_clock)
        return alone && event->varying ? run_hz : 0;
    if (alone || !event->period || (run_hz > 0 && event->period == (uint64_t)(1e9 / run_hz)))
        return run_hz;
    return event->varying ? round(1e9 / (double)event->period) : 0;
}

/* Makes samples and losses of a run those of the chosen event: each has its own in the ledger. */
static int narrow_to_event(struct report_loading *loading, uint32_t run_id,
                           struct store_quality *quality, struct sprof_error *error)
{
    const struct report_dataset *dataset = loading->dataset;
    const struct store_event *chosen = NULL;
    struct store_event_quality own;
    size_t count = 0;
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        count += event->run_id == run_id;
        if (event->run_id == run_id && dataset->event.id &&
            !strcmp(event->name, dataset->event.name))
            chosen = event;
    }
    if (!chosen || dataset->all_events)
        return 0;
    const int result = store_event_quality(loading->store, chosen->id, &own, error);
    if (result || !own.seconds)
        return result;
    quality->requested_hz = requested_hz(chosen, quality->requested_hz, count == 1);
    if (count == 1)
        return 0;
    quality->samples = own.samples;
    quality->lost = own.lost;
    if (quality->target_cpu_ns)
        quality->reached_hz = (double)own.samples * 1e9 / (double)quality->target_cpu_ns;
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
            result = narrow_to_event(loading, run_id, &one, error);
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
