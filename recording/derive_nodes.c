/* Nodes, frames and modules of what is derived, by their ids. */
#include "recording/derive.h"

struct derive_module *recording_derive_module(const struct derive *derive, uint32_t id)
{
    const uint64_t *index = sprof_map_get(&derive->module_index, id);
    return index ? &derive->modules.items[*index] : NULL;
}

/* Ids ascend, and in a file that was recorded in one piece none is missing. */
size_t recording_derive_find_node(const struct derive *derive, uint32_t id)
{
    const struct derive_node *nodes = derive->nodes.items;
    size_t low = 0, high = derive->nodes.count;
    if (high && id >= nodes[0].id && id - nodes[0].id < high && nodes[id - nodes[0].id].id == id)
        return (size_t)(id - nodes[0].id) + 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (nodes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < derive->nodes.count && nodes[low].id == id ? low + 1 : 0;
}

void recording_derive_reach(struct derive *derive, const struct derive_run *run, size_t at)
{
    while (at && !derive->nodes.items[at - 1].run) {
        struct derive_node *node = &derive->nodes.items[at - 1];
        const uint64_t *frame = sprof_map_get(&derive->frame_index, node->frame);
        struct derive_module *module =
            recording_derive_module(derive, derive->frames.items[*frame].module);
        node->run = (uint32_t)(run - derive->runs.items) + 1;
        if (module && !run->same_boot)
            module->other_boot = true;
        at = node->parent;
    }
}

uint32_t recording_derive_entry_function(const struct derive *derive, uint32_t node)
{
    const size_t at = recording_derive_find_node(derive, node);
    const uint64_t *frame_at =
        at ? sprof_map_get(&derive->frame_index, derive->nodes.items[at - 1].frame) : NULL;
    const struct derive_frame *frame = frame_at ? &derive->frames.items[*frame_at] : NULL;
    return frame && frame->chain_count
               ? derive->levels.items[frame->chain + frame->chain_count - 1].function
               : 0;
}
