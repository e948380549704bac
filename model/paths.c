/* Adds up exclusive and inclusive costs of call paths. */
#include "model/paths.h"

void model_paths_release(struct model_paths *paths)
{
    sprof_vec_release(&paths->items);
    sprof_map_release(&paths->index);
}

uint32_t model_paths_find(const struct model_paths *paths, uint32_t parent, uint32_t function)
{
    const uint64_t *known = sprof_map_get(&paths->index, (uint64_t)parent << 32 | function);
    return known ? (uint32_t)*known : 0;
}

int model_paths_child(struct model_paths *paths, uint32_t parent, uint32_t function, uint32_t *path)
{
    const uint64_t key = (uint64_t)parent << 32 | function;
    const uint64_t *known = sprof_map_get(&paths->index, key);
    if (known) {
        *path = (uint32_t)*known;
        return 0;
    }
    const struct model_path added = {
        .id = (uint32_t)paths->items.count + 1,
        .parent = parent,
        .function = function,
        .depth = parent ? paths->items.items[parent - 1].depth + 1 : 1,
    };
    if (sprof_vec_push(&paths->items, added))
        return SPROF_ENOMEM;
    if (sprof_map_put(&paths->index, key, added.id)) {
        paths->items.count--;
        return SPROF_ENOMEM;
    }
    *path = added.id;
    return 0;
}

static void cost_add(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

void model_paths_clear_costs(struct model_paths *paths)
{
    for (size_t i = 0; i < paths->items.count; i++)
        paths->items.items[i].costs = (struct model_costs){0};
}

void model_paths_add(struct model_paths *paths, uint32_t path, struct model_cost cost)
{
    cost_add(&paths->items.items[path - 1].costs.exclusive, cost);
}

void model_paths_sum(struct model_paths *paths)
{
    struct model_path *items = paths->items.items;
    for (size_t i = 0; i < paths->items.count; i++)
        items[i].costs.inclusive = items[i].costs.exclusive;
    /* Children come after their parents: backwards, each is complete before it is passed on. */
    for (size_t i = paths->items.count; i-- > 0;)
        if (items[i].parent)
            cost_add(&items[items[i].parent - 1].costs.inclusive, items[i].costs.inclusive);
}

struct model_cost model_paths_total(const struct model_paths *paths)
{
    struct model_cost total = {0};
    for (size_t i = 0; i < paths->items.count; i++)
        cost_add(&total, paths->items.items[i].costs.exclusive);
    return total;
}
