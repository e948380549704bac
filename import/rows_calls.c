/* Adds up what rows of cost hold of calls, of all windows together. */
#include "import/rows.h"

/* Instead of a number of outermost calls; sums of rows are smaller. */
static const uint64_t not_known = UINT64_MAX;

/* Times are of outermost calls: a row without any is of a version that did not write them. */
static uint64_t add_outermost(uint64_t sum, const struct import_row_cost *cost)
{
    return sum == not_known || (cost->total_ns && !cost->outermost) ? not_known
                                                                    : sum + cost->outermost;
}

int import_rows_add_calls(struct store_batch *batch, struct sprof_map *places,
                          const struct import_row_cost *cost, const struct store_sample *sample,
                          uint32_t run_id)
{
    uint64_t *known = sprof_map_at(places, (uint64_t)sample->thread_id << 32 | sample->node_id);
    const struct store_call_cost none = {
        .run_id = run_id,
        .event_id = sample->event_id,
        .thread_id = sample->thread_id,
        .node_id = sample->node_id,
    };
    if (!known || (!*known && sprof_vec_push(&batch->call_costs, none)))
        return SPROF_ENOMEM;
    *known = *known ? *known : batch->call_costs.count;
    struct store_call_cost *row = &batch->call_costs.items[*known - 1];
    row->calls += cost->samples;
    row->counted += cost->counted;
    row->in_flight += cost->in_flight;
    row->outermost = add_outermost(row->outermost, cost);
    row->self_ns += cost->weight;
    row->total_ns += cost->total_ns;
    row->raw_self_ns = row->self_ns;
    row->raw_total_ns = row->total_ns;
    row->timed = row->self_ns || row->total_ns;
    return 0;
}

void import_rows_settle_calls(struct store_batch *batch)
{
    for (size_t i = 0; i < batch->call_costs.count; i++)
        if (batch->call_costs.items[i].outermost == not_known)
            batch->call_costs.items[i].outermost = 0;
}
