/* Which functions were called, from where their entries were: two entries of one function are one.
 * And those without a call that rows name: a probe that was off since the figures were cleared. */
#include "recording/derive.h"

struct covering {
    struct derive *derive;
    const struct derive_run *run;
    struct sprof_map index; /* function → position of its row */
};

static int reach_entry(void *context, const struct store_entry_coverage *entry)
{
    struct covering *covering = context;
    const size_t at = recording_derive_find_node(covering->derive, entry->node_id);
    if (!at)
        return SPROF_EFORMAT;
    recording_derive_reach(covering->derive, covering->run, at);
    return 0;
}

/* It has a row of its path, by which views find its function: with separate nodes for callers no
 * sample ends in the node of the entry alone. */
static int reach_probed(void *context, const struct store_probed_node *probed)
{
    struct covering *covering = context;
    const size_t at = recording_derive_find_node(covering->derive, probed->node_id);
    if (!at)
        return SPROF_EFORMAT;
    covering->derive->nodes.items[at - 1].has_row = true;
    recording_derive_reach(covering->derive, covering->run, at);
    return 0;
}

int recording_derive_reach_coverage(struct derive *derive, const struct derive_run *run,
                                    struct sprof_error *error)
{
    struct covering covering = {.derive = derive, .run = run};
    int result = store_each_entry_coverage(derive->store, run->id, reach_entry, &covering, error);
    if (!result)
        result = store_each_probed_node(derive->store, run->id, reach_probed, &covering, error);
    return result == SPROF_EFORMAT && (!error || !error->code)
               ? sprof_error_set(error, SPROF_EFORMAT, 0,
                                 "the recording is damaged: the place of a function is missing")
               : result;
}

static int add_entry(void *context, const struct store_entry_coverage *entry)
{
    struct covering *covering = context;
    struct derive *derive = covering->derive;
    const struct store_coverage row = {
        .run_id = covering->run->id,
        .function_id = recording_derive_entry_function(derive, entry->node_id),
        .first_ns = entry->first_ns,
        .thread_id = entry->thread_id,
    };
    const uint64_t *known = sprof_map_get(&covering->index, row.function_id);
    if (!row.function_id)
        return 0;
    if (!known)
        return sprof_map_put(&covering->index, row.function_id, derive->derived.coverages.count) ||
                       sprof_vec_push(&derive->derived.coverages, row)
                   ? SPROF_ENOMEM
                   : 0;
    struct store_coverage *first = &derive->derived.coverages.items[*known];
    if (row.first_ns && (!first->first_ns || row.first_ns < first->first_ns))
        *first = row;
    return 0;
}

int recording_derive_coverage(struct derive *derive, const struct derive_run *run,
                              struct sprof_error *error)
{
    struct covering covering = {.derive = derive, .run = run};
    const int result =
        store_each_entry_coverage(derive->store, run->id, add_entry, &covering, error);
    sprof_map_release(&covering.index);
    return result;
}
