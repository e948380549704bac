/* Costs of functions, modules and calls: each counts a sample once, however often its stack holds
 * the thing. All three are one walk over the tree; they differ in the thing taken of each path. */
#include "model/paths.h"

#include <assert.h>

/* A depth-first walk that needs no stack: children and siblings are linked by number, 0 is the root
 * above all roots. */
struct cost_walk {
    const struct model_paths *paths;
    uint32_t *first_child, *next_sibling; /* [id] */
    uint32_t at;
    bool entered; /* `at` has just been entered; else just left */
};

static int walk_init(struct cost_walk *walk, const struct model_paths *paths)
{
    const size_t count = paths->items.count + 1;
    *walk = (struct cost_walk){.paths = paths, .entered = true};
    walk->first_child = calloc(count, 2 * sizeof *walk->first_child);
    if (!walk->first_child)
        return SPROF_ENOMEM;
    walk->next_sibling = walk->first_child + count;
    for (size_t i = paths->items.count; i-- > 0;) {
        const struct model_path *path = &paths->items.items[i];
        walk->next_sibling[path->id] = walk->first_child[path->parent];
        walk->first_child[path->parent] = path->id;
    }
    return 0;
}

/* Moves to the next entering or leaving of a path; false at the end. */
static bool walk_next(struct cost_walk *walk)
{
    if (walk->entered && walk->first_child[walk->at]) {
        walk->at = walk->first_child[walk->at];
        return true;
    }
    if (!walk->entered && walk->next_sibling[walk->at]) {
        walk->at = walk->next_sibling[walk->at];
        walk->entered = true;
        return true;
    }
    if (!walk->entered)
        walk->at = walk->paths->items.items[walk->at - 1].parent;
    walk->entered = false;
    return walk->at != 0;
}

static void cost_add(struct model_cost *sum, struct model_cost cost)
{
    sum->samples += cost.samples;
    sum->weight += cost.weight;
}

/* Adds the cost of every path to the thing it stands for, inclusive only where no path around it
 * stands for the same thing. */
int model_group_costs(const struct model_paths *paths, const uint32_t *things, size_t count,
                      struct model_costs *costs)
{
    struct cost_walk walk;
    if (walk_init(&walk, paths))
        return SPROF_ENOMEM;
    uint32_t *open = calloc(count + 1, sizeof *open);
    if (!open) {
        free(walk.first_child);
        return SPROF_ENOMEM;
    }
    while (walk_next(&walk)) {
        const uint32_t thing = things[walk.at - 1];
        if (!thing)
            continue;
        assert(thing <= count);
        if (!walk.entered) {
            open[thing]--;
            continue;
        }
        const struct model_costs *path = &paths->items.items[walk.at - 1].costs;
        cost_add(&costs[thing - 1].exclusive, path->exclusive);
        if (!open[thing]++)
            cost_add(&costs[thing - 1].inclusive, path->inclusive);
    }
    free(open);
    free(walk.first_child);
    return 0;
}

static uint32_t *things_new(const struct model_paths *paths)
{
    return malloc((paths->items.count + 1) * sizeof(uint32_t));
}

int model_line_costs(const struct model_paths *lines, size_t count, struct model_costs *costs)
{
    uint32_t *things = things_new(lines);
    if (!things)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < lines->items.count; i++)
        things[i] = lines->items.items[i].function;
    const int result = model_group_costs(lines, things, count, costs);
    free(things);
    return result;
}

/* A function is to the tree of functions what a place is to the tree of lines. */
int model_function_costs(const struct model_paths *paths, const struct model_functions *functions,
                         struct model_costs *costs)
{
    return model_line_costs(paths, functions->count, costs);
}

int model_module_costs(const struct model_paths *paths, const struct model_functions *functions,
                       struct model_costs *costs, size_t module_count)
{
    uint32_t *things = things_new(paths);
    if (!things)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count; i++) {
        assert(paths->items.items[i].function <= functions->count);
        things[i] = functions->items[paths->items.items[i].function - 1].module;
    }
    const int result = model_group_costs(paths, things, module_count, costs);
    free(things);
    return result;
}

/* Numbers the calls: things[i] is the edge into path i + 1, 0 for roots. */
static int number_edges(const struct model_paths *paths, uint32_t *things,
                        struct model_edges *edges)
{
    struct sprof_map numbers = {0};
    int result = 0;
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        things[i] = 0;
        if (!path->parent)
            continue;
        const uint32_t caller = paths->items.items[path->parent - 1].function;
        const uint64_t key = (uint64_t)caller << 32 | path->function;
        const uint64_t *known = sprof_map_get(&numbers, key);
        things[i] = known ? (uint32_t)*known : (uint32_t)edges->items.count + 1;
        if (known)
            continue;
        result =
            sprof_vec_push(&edges->items, (struct model_edge){caller, path->function, {0}, {0}});
        if (!result)
            result = sprof_map_put(&numbers, key, things[i]);
    }
    sprof_map_release(&numbers);
    return result;
}

static int compare_edges(const void *a, const void *b)
{
    const struct model_edge *first = a, *second = b;
    if (first->caller != second->caller)
        return first->caller < second->caller ? -1 : 1;
    return first->callee < second->callee ? -1 : first->callee > second->callee;
}

int model_edge_costs(const struct model_paths *paths, struct model_edges *edges)
{
    *edges = (struct model_edges){0};
    struct model_costs *costs = NULL;
    uint32_t *things = things_new(paths);
    int result = things ? number_edges(paths, things, edges) : SPROF_ENOMEM;
    if (result)
        goto done;
    costs = calloc(edges->items.count + 1, sizeof *costs);
    result = costs ? model_group_costs(paths, things, edges->items.count, costs) : SPROF_ENOMEM;
    if (result)
        goto done;
    for (size_t i = 0; i < edges->items.count; i++) {
        edges->items.items[i].cost = costs[i].inclusive;
        edges->items.items[i].innermost = costs[i].exclusive;
    }
    if (edges->items.count)
        qsort(edges->items.items, edges->items.count, sizeof *edges->items.items, compare_edges);
done:
    free(costs);
    free(things);
    if (result)
        model_edges_release(edges);
    return result;
}

void model_edges_release(struct model_edges *edges)
{
    sprof_vec_release(&edges->items);
}
