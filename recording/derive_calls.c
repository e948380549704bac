/* What is derived of calls that were measured by probes. */
#include "recording/derive.h"

#include <math.h>
#include <string.h>

struct adding {
    struct derive_run *run;
    struct sprof_map index; /* event and node → position */
};

/* *known: where calls of that event and node are summed up. 0 or SPROF_ENOMEM. */
static int find(struct adding *adding, uint32_t event, uint32_t node, struct derive_calls **known)
{
    const uint64_t key = (uint64_t)event << 32 | node;
    const uint64_t *found = sprof_map_get(&adding->index, key);
    const size_t at = found ? (size_t)*found : adding->run->calls.count;
    const struct derive_calls none = {.event = event, .node = node};
    if (!found &&
        (sprof_vec_push(&adding->run->calls, none) || sprof_map_put(&adding->index, key, at)))
        return SPROF_ENOMEM;
    *known = &adding->run->calls.items[at];
    return 0;
}

static int add_row(void *context, const struct store_call_cost *row)
{
    struct derive_calls *calls;
    if (find(context, row->event_id, row->node_id, &calls))
        return SPROF_ENOMEM;
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

/* A function has a node in each process that executed a program of its own. */
static int add_to_function(struct adding *functions, const struct derive_calls *calls,
                           uint32_t function)
{
    struct derive_calls *sum;
    if (find(functions, calls->event, function, &sum))
        return SPROF_ENOMEM;
    sum->max_ns = calls->max_ns > sum->max_ns ? calls->max_ns : sum->max_ns;
    sum->bucket_ns = calls->bucket_ns;
    sum->has_gaps |= calls->has_gaps;
    for (size_t i = 0; i < DERIVE_BUCKETS; i++)
        sum->buckets[i] += calls->buckets[i];
    return 0;
}

/* Of nothing where some calls are in no bucket. */
static int put_latency(struct derive *derive, uint32_t run, const struct derive_calls *calls)
{
    uint64_t count = 0;
    for (size_t i = 0; i < DERIVE_BUCKETS; i++)
        count += calls->buckets[i];
    const struct store_call_latency row = {
        .run_id = run,
        .event_id = calls->event,
        .function_id = calls->node,
        .p50_ns = percentile(calls, count, 0.5),
        .p90_ns = percentile(calls, count, 0.9),
        .p99_ns = percentile(calls, count, 0.99),
        .p999_ns = percentile(calls, count, 0.999),
    };
    return count && !calls->has_gaps && sprof_vec_push(&derive->derived.call_latencies, row)
               ? SPROF_ENOMEM
               : 0;
}

int recording_derive_call_latencies(struct derive *derive, const struct derive_run *run)
{
    struct derive_run sums = {0}; /* its calls: `node` holds the function */
    struct adding functions = {.run = &sums};
    int result = 0;
    for (size_t i = 0; i < run->calls.count && !result; i++) {
        const struct derive_calls *calls = &run->calls.items[i];
        const uint32_t function = recording_derive_entry_function(derive, calls->node);
        result = function ? add_to_function(&functions, calls, function) : 0;
    }
    for (size_t i = 0; i < sums.calls.count && !result; i++)
        result = put_latency(derive, run->id, &sums.calls.items[i]);
    sprof_vec_release(&sums.calls);
    sprof_map_release(&functions.index);
    return result;
}
