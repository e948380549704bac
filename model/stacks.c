/* Keeps distinct stacks as a tree of frames. */
#include "model/stacks.h"

#include <string.h>

void model_stacks_release(struct model_stacks *stacks)
{
    for (size_t i = 0; i < stacks->frame_index_count; i++)
        sprof_map_release(&stacks->frame_index[i]);
    free(stacks->frame_index);
    free(stacks->node_next);
    sprof_map_release(&stacks->node_index);
    sprof_vec_release(&stacks->frames);
    sprof_vec_release(&stacks->nodes);
    *stacks = (struct model_stacks){0};
}

static int index_module(struct model_stacks *stacks, uint32_t module)
{
    size_t capacity = stacks->frame_index_count;
    struct sprof_map *grown = stacks->frame_index;
    if (sprof_vec_grow((void **)&grown, &capacity, sizeof *grown, (size_t)module + 1))
        return SPROF_ENOMEM;
    memset(grown + stacks->frame_index_count, 0,
           (capacity - stacks->frame_index_count) * sizeof *grown);
    stacks->frame_index = grown;
    stacks->frame_index_count = capacity;
    return 0;
}

int model_stacks_frame(struct model_stacks *stacks, uint32_t module, uint64_t offset,
                       uint32_t *frame)
{
    if (module >= stacks->frame_index_count && index_module(stacks, module))
        return SPROF_ENOMEM;
    uint64_t *known = sprof_map_at(&stacks->frame_index[module], offset);
    if (!known)
        return SPROF_ENOMEM;
    if (!*known) {
        const uint32_t id = stacks->first_frame + (uint32_t)stacks->frames.count + 1;
        if (sprof_vec_push(&stacks->frames, (struct model_frame){id, module, offset}))
            return SPROF_ENOMEM;
        *known = id;
    }
    *frame = (uint32_t)*known;
    return 0;
}

/* Whether there is a node with that number, and it is this one. */
static bool is_node(const struct model_stacks *stacks, uint32_t id, uint32_t parent, uint32_t frame,
                    uint8_t found_by, uint32_t guessed)
{
    const size_t index = (size_t)id - 1 - stacks->first_node;
    if (!id || index >= stacks->nodes.count)
        return false;
    const struct model_node *node = &stacks->nodes.items[index];
    return node->parent == parent && node->frame == frame && node->found_by == found_by &&
           node->guessed == guessed;
}

int model_stacks_node(struct model_stacks *stacks, uint32_t parent, uint32_t frame,
                      uint8_t found_by, uint32_t guessed, uint32_t *node)
{
    if (is_node(stacks, *node, parent, frame, found_by, guessed))
        return 0;
    /* A stack's new nodes are made one after the other. The index of all nodes is larger than the
     * processor's caches, and each look into it is far from the one before. */
    if (parent && is_node(stacks, parent + 1, parent, frame, found_by, guessed)) {
        *node = parent + 1;
        return 0;
    }
    uint64_t *newest = sprof_map_at(&stacks->node_index, (uint64_t)parent << 32 | frame);
    if (!newest)
        return SPROF_ENOMEM;
    /* The same call can be found in several ways; each is a node of its own. */
    for (uint32_t id = (uint32_t)*newest; id; id = stacks->node_next[id - 1 - stacks->first_node]) {
        const struct model_node *found = &stacks->nodes.items[id - 1 - stacks->first_node];
        if (found->found_by == found_by && found->guessed == guessed) {
            *node = id;
            return 0;
        }
    }
    const size_t index = stacks->nodes.count;
    const struct model_node added = {
        .id = stacks->first_node + (uint32_t)index + 1,
        .parent = parent,
        .frame = frame,
        .depth = parent ? stacks->nodes.items[parent - 1 - stacks->first_node].depth + 1 : 1,
        .found_by = found_by,
        .guessed = guessed,
    };
    if (index >= stacks->node_next_capacity &&
        sprof_vec_grow((void **)&stacks->node_next, &stacks->node_next_capacity,
                       sizeof *stacks->node_next, index + 1))
        return SPROF_ENOMEM;
    if (sprof_vec_push(&stacks->nodes, added))
        return SPROF_ENOMEM;
    stacks->node_next[index] = (uint32_t)*newest;
    *newest = added.id;
    *node = added.id;
    return 0;
}

uint64_t model_frame_key(uint64_t module_key, uint64_t offset)
{
    return sprof_hash_pair(module_key, offset);
}
