/* Finds the runs whose sums stay as they are, where new names came to some of the code. */
#include "recording/derive.h"

#include <stdlib.h>

static const struct derive_run *owner_of(const struct derive *derive,
                                         const struct derive_node *node)
{
    return node->run ? &derive->runs.items[node->run - 1] : NULL;
}

static struct derive_node *pair_node(const struct derive *derive, const struct derive_event *event,
                                     size_t at)
{
    const uint32_t id = event->pairs.items[at].node_id;
    return &derive->nodes.items[recording_derive_find_node(derive, id) - 1];
}

/* Whether samples of the run stand on a frame that got another name. */
static bool has_new_names(const struct derive *derive, const struct derive_run *run,
                          const bool *renamed)
{
    for (size_t k = 0; k < run->events.count; k++)
        for (size_t i = 0; i < run->events.items[k].pairs.count; i++)
            if (renamed[pair_node(derive, &run->events.items[k], i) - derive->nodes.items])
                return true;
    for (size_t i = 0; i < derive->nodes.count; i++)
        if (renamed[i] && owner_of(derive, &derive->nodes.items[i]) == run)
            return true;
    return false;
}

/* Nodes that runs have in common, as in merged files, are to be those of a run that is derived. */
static void claim_nodes(struct derive *derive)
{
    for (size_t r = 0; r < derive->runs.count; r++) {
        const struct derive_run *run = &derive->runs.items[r];
        for (size_t k = 0; !run->kept && k < run->events.count; k++)
            for (size_t i = 0; i < run->events.items[k].pairs.count; i++) {
                struct derive_node *node = pair_node(derive, &run->events.items[k], i);
                if (owner_of(derive, node)->kept)
                    node->run = (uint32_t)r + 1;
            }
    }
    for (size_t i = derive->nodes.count; i-- > 0;) { /* parents come before their children */
        const struct derive_node *node = &derive->nodes.items[i];
        struct derive_node *parent = node->parent ? &derive->nodes.items[node->parent - 1] : NULL;
        if (parent && node->run && !owner_of(derive, node)->kept && owner_of(derive, parent)->kept)
            parent->run = node->run;
    }
}

int recording_derive_keep_runs(struct derive *derive)
{
    const struct recording_derive_source *source = derive->source;
    if (!source->unnamed || source->again || source->rules.count)
        return 0;
    bool *renamed = calloc(derive->nodes.count + 1, sizeof *renamed);
    if (!renamed)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        renamed[i] =
            derive->frames.items[*sprof_map_get(&derive->frame_index, node->frame)].renamed ||
            (node->parent && renamed[node->parent - 1]);
    }
    for (size_t r = 0; r < derive->runs.count; r++) {
        struct derive_run *run = &derive->runs.items[r];
        run->kept = run->complete && !has_new_names(derive, run, renamed);
        derive->all &= !run->kept;
    }
    free(renamed);
    claim_nodes(derive);
    return 0;
}
