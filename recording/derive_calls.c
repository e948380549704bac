/* What is derived of calls that were measured by probes. */
#include "recording/derive.h"

#include <math.h>
#include <string.h>

struct adding {
    struct derive_run *run;
    struct sprof_map index; /* event and node → position */
};

static int add_row(void *context, const struct store_call_cost *row)
{
    struct adding *adding = context;
    const uint64_t key = (uint64_t)row->event_id << 32 | row->node_id;
    const uint64_t *known = sprof_map_get(&adding->index, key);
    const size_t at = known ? (size_t)*known : adding->run->calls.count;
    if (!known) {
        const struct derive_calls none = {.event = row->event_id, .node = row->node_id};
        if (sprof_vec_push(&adding->run->calls, none) || sprof_map_put(&adding->index, key, at))
            return SPROF_ENOMEM;
    }
    struct derive_calls *calls = &adding->run->calls.items[at];
    calls->total_ns += row->total_ns;
    calls->max_ns = row->max_ns > calls->max_ns ? row->max_ns : calls->max_ns;
    calls->bucket_ns = row->bucket_ns;
    calls->has_gaps |=
        row->timed && !row->buckets.size && row->calls > row->counted + row->in_flight;
    for (size_t i = 0; i < DERIVE_BUCKETS && (i + 1) * 4 <= row->buckets.size; i++) {
        uint32_t count;
        memcpy(&count, row->buckets.data + 4 * i, sizeof count);
        calls->buckets[i] += count;
    }
    return 0;
}

int recording_derive_load_calls(struct derive *derive, struct derive_run *run,
                                struct sprof_error *error)
{
    struct adding adding = {.run = run};
    const int result = store_each_call_cost(derive->store, run->id, add_row, &adding, error);
    sprof_map_release(&adding.index);
    return result;
}

void recording_derive_call_totals(const struct derive *derive, const struct derive_run *run,
                                  uint32_t event, uint64_t *totals)
{
    for (size_t i = 0; i < run->calls.count; i++) {
        const struct derive_calls *calls = &run->calls.items[i];
        if (calls->event == event)
            totals[recording_derive_entry_function(derive, calls->node)] += calls->total_ns;
    }
}

/* Two an octave: from its beginning to half as much more, and from there to the next one. */
static double end_of_bucket(const struct derive_calls *calls, size_t bucket)
{
    const double octave = calls->bucket_ns / M_SQRT2 * pow(2, (double)(bucket / 2));
    return octave * (bucket % 2 ? 2 : 1.5);
}

/* The duration that a share of the calls does not exceed: the end of the bucket that holds it, and
 * never more than the longest call. */
static uint64_t percentile(const struct derive_calls *calls, uint64_t count, double share)
{
    uint64_t below = 0;
    for (size_t i = 0; i < DERIVE_BUCKETS; i++) {
        below += calls->buckets[i];
        if ((double)below < share * (double)count)
            continue;
        const double end = end_of_bucket(calls, i);
        return end < (double)calls->max_ns ? (uint64_t)end : calls->max_ns;
    }
    return calls->max_ns;
}

int recording_derive_call_latencies(struct derive *derive, const struct derive_run *run)
{
    for (size_t i = 0; i < run->calls.count; i++) {
        const struct derive_calls *calls = &run->calls.items[i];
        uint64_t count = 0;
        for (size_t k = 0; k < DERIVE_BUCKETS; k++)
            count += calls->buckets[k];
        const struct store_call_latency row = {
            .run_id = run->id,
            .event_id = calls->event,
            .function_id = recording_derive_entry_function(derive, calls->node),
            .p50_ns = percentile(calls, count, 0.5),
            .p90_ns = percentile(calls, count, 0.9),
            .p99_ns = percentile(calls, count, 0.99),
            .p999_ns = percentile(calls, count, 0.999),
        };
        if (count && !calls->has_gaps && row.function_id &&
            sprof_vec_push(&derive->derived.call_latencies, row))
            return SPROF_ENOMEM;
    }
    return 0;
}
