/* From nodes to call paths, and from sample counts to every stored cost. */
#include "record/derive.h"

#include <string.h>

static const struct derive_frame *frame_of(const struct derive *derive, uint32_t id)
{
    const uint64_t *index = sprof_map_get(&derive->frame_index, id);
    return index ? &derive->frames.items[*index] : NULL;
}

static struct derive_node *node_of(const struct derive *derive, uint32_t id)
{
    const uint64_t *index = id ? sprof_map_get(&derive->node_index, id) : NULL;
    return index ? &derive->nodes.items[*index] : NULL;
}

static int damaged(struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EFORMAT, 0,
        "the recording is damaged: its call tree refers to rows that are missing");
}

static bool is_named(const struct derive *derive, const struct derive_frame *frame)
{
    return frame->chain_count &&
           derive->derived.functions.items[derive->chains.items[frame->chain] - 1].named;
}

/* Parents come before their children. Keys are content: the same stack has the same key everywhere.
 */
static int sum_up_nodes(struct derive *derive, struct sprof_error *error)
{
    for (size_t i = 0; i < derive->nodes.count; i++) {
        struct derive_node *node = &derive->nodes.items[i];
        const struct derive_frame *frame = frame_of(derive, node->frame);
        const struct derive_node *parent = node_of(derive, node->parent);
        if (!frame || (node->parent && (!parent || parent >= node)))
            return damaged(error);
        node->key = model_node_key(parent ? parent->key : 0, frame->key);
        node->named = (parent ? parent->named : 0) + is_named(derive, frame);
    }
    return 0;
}

/* == Call paths == */

/* A full recording: every node is a path, its inlined functions one level each. */
static int full_paths(struct derive *derive)
{
    for (size_t i = 0; i < derive->nodes.count; i++) {
        struct derive_node *node = &derive->nodes.items[i];
        const struct derive_frame *frame = frame_of(derive, node->frame);
        const struct derive_node *parent = node_of(derive, node->parent);
        uint32_t path = parent ? parent->path : 0;
        for (uint32_t k = frame->chain_count; k-- > 0;)
            if (model_paths_child(&derive->paths, path, derive->chains.items[frame->chain + k],
                                  &path))
                return SPROF_ENOMEM;
        node->path = path;
    }
    return 0;
}

struct line {
    SPROF_VEC(uint32_t) functions; /* root first once reversed */
    SPROF_VEC(bool) is_app;
};

static int spell_out(const struct derive *derive, const struct derive_node *node, struct line *line)
{
    const struct model_functions functions = {derive->functions.items, derive->functions.count};
    line->functions.count = line->is_app.count = 0;
    for (; node; node = node_of(derive, node->parent)) {
        const struct derive_frame *frame = frame_of(derive, node->frame);
        for (uint32_t k = 0; k < frame->chain_count; k++)
            if (sprof_vec_push(&line->functions, derive->chains.items[frame->chain + k]))
                return SPROF_ENOMEM;
    }
    const size_t count = line->functions.count;
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = line->functions.items[i];
        line->functions.items[i] = line->functions.items[count - 1 - i];
        line->functions.items[count - 1 - i] = swapped;
    }
    for (size_t i = 0; i < count; i++)
        if (sprof_vec_push(&line->is_app,
                           model_function_is_app(&functions, line->functions.items[i])))
            return SPROF_ENOMEM;
    return 0;
}

/* Recordings in the other modes were cut by module; start-up functions are only known by name, and
 * inlined functions only now: the same cut again, by function, gives what `report --mode` would. */
static int cut_path(struct derive *derive, struct derive_node *node, struct line *line)
{
    if (spell_out(derive, node, line))
        return SPROF_ENOMEM;
    size_t first, last;
    uint32_t path = 0;
    if (!model_view_cut(&derive->view, line->is_app.items, line->functions.count, &first, &last)) {
        const struct derive_frame *frame = frame_of(derive, node->frame);
        const bool pseudo =
            !node->parent && frame->chain_count == 1 &&
            derive->functions.items[line->functions.items[0] - 1].kind == MODEL_KIND_NONE;
        const uint32_t function = pseudo ? line->functions.items[0] : derive->view.outside;
        if (!function) /* the module that the recorder makes for it is missing */
            return SPROF_EFORMAT;
        return model_paths_child(&derive->paths, 0, function, &node->path);
    }
    for (size_t i = first; i <= last; i++) {
        const bool drop = derive->view.mode == MODEL_MODE_APP && derive->view.drop_interior &&
                          !line->is_app.items[i];
        if (!drop && model_paths_child(&derive->paths, path, line->functions.items[i], &path))
            return SPROF_ENOMEM;
    }
    node->path = path;
    return 0;
}

static int mark_sampled(void *context, const struct store_node_cost *cost)
{
    struct sprof_map *sampled = context;
    return sprof_map_put(sampled, cost->node_id, 1);
}

static int cut_paths(struct derive *derive, struct sprof_error *error)
{
    struct sprof_map sampled = {0};
    struct line line = {0};
    int result = 0;
    for (size_t i = 0; i < derive->runs.count && !result; i++) {
        const struct store_filter filter = {.run_id = derive->runs.items[i].id};
        result = store_each_node_cost(derive->store, &filter, mark_sampled, &sampled, error);
    }
    for (size_t i = 0; i < derive->nodes.count && !result; i++)
        if (sprof_map_get(&sampled, derive->nodes.items[i].id))
            result = cut_path(derive, &derive->nodes.items[i], &line);
    if (result == SPROF_EFORMAT)
        damaged(error);
    else if (result == SPROF_ENOMEM)
        sprof_error_memory(error);
    sprof_map_release(&sampled);
    sprof_vec_release(&line.functions);
    sprof_vec_release(&line.is_app);
    return result;
}

/* == Costs == */

static int add_node_cost(void *context, const struct store_node_cost *cost)
{
    struct derive *derive = context;
    const struct derive_node *node = node_of(derive, cost->node_id);
    if (node && node->path)
        model_paths_add(&derive->paths, node->path, cost->cost);
    return 0;
}

static bool is_zero(const struct model_costs *costs)
{
    return !costs->inclusive.samples && !costs->inclusive.weight;
}

#define PUSH_COSTS(derive, vec, run_row, row_id, row_costs)                                        \
    sprof_vec_push(vec, (struct store_path_cost){.run_id = (run_row)->id,                          \
                                                 .event_id = (run_row)->event,                     \
                                                 .id = (row_id),                                   \
                                                 .costs = (row_costs)})

static int path_costs(struct derive *derive, const struct derive_run *run)
{
    for (size_t i = 0; i < derive->paths.items.count; i++) {
        const struct model_path *path = &derive->paths.items.items[i];
        if (!is_zero(&path->costs) &&
            PUSH_COSTS(derive, &derive->derived.path_costs, run, path->id, path->costs))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int function_costs(struct derive *derive, const struct derive_run *run)
{
    const struct model_functions functions = {derive->functions.items, derive->functions.count};
    struct model_costs *costs = calloc(functions.count + 1, sizeof *costs);
    int result = costs ? model_function_costs(&derive->paths, &functions, costs) : SPROF_ENOMEM;
    for (size_t i = 0; i < functions.count && !result; i++)
        if (!is_zero(&costs[i]))
            result =
                PUSH_COSTS(derive, &derive->derived.function_costs, run, (uint32_t)i + 1, costs[i]);
    free(costs);
    return result;
}

static int module_costs(struct derive *derive, const struct derive_run *run)
{
    const struct model_functions functions = {derive->functions.items, derive->functions.count};
    const size_t count = derive->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result =
        costs ? model_module_costs(&derive->paths, &functions, costs, count) : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        if (!is_zero(&costs[i]))
            result = PUSH_COSTS(derive, &derive->derived.module_costs, run,
                                derive->modules.items[i].row.id, costs[i]);
    free(costs);
    return result;
}

static int edge_costs(struct derive *derive, const struct derive_run *run)
{
    struct model_edges edges = {0};
    int result = model_edge_costs(&derive->paths, &edges);
    for (size_t i = 0; i < edges.items.count && !result; i++) {
        const struct store_edge_cost row = {run->id, run->event, edges.items.items[i]};
        result = sprof_vec_push(&derive->derived.edge_costs, row);
    }
    model_edges_release(&edges);
    return result;
}

static int run_costs(struct derive *derive, const struct derive_run *run, struct sprof_error *error)
{
    for (size_t i = 0; i < derive->paths.items.count; i++)
        derive->paths.items.items[i].costs = (struct model_costs){0};
    const struct store_filter filter = {.run_id = run->id};
    const int result = store_each_node_cost(derive->store, &filter, add_node_cost, derive, error);
    if (result)
        return result;
    model_paths_sum(&derive->paths);
    if (path_costs(derive, run) || function_costs(derive, run) || module_costs(derive, run) ||
        edge_costs(derive, run))
        return sprof_error_memory(error);
    return 0;
}

static int derive_rows(struct derive *derive)
{
    for (size_t i = 0; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        const struct store_node row = {
            .id = node->id, .key = node->key, .named = node->named, .path_id = node->path};
        if (sprof_vec_push(&derive->derived.nodes, row))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < derive->paths.items.count; i++)
        if (sprof_vec_push(&derive->derived.paths, derive->paths.items.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

int derive_costs(struct derive *derive, struct sprof_error *error)
{
    int result = sum_up_nodes(derive, error);
    if (!result && derive->view.mode == MODEL_MODE_FULL)
        result = full_paths(derive) ? sprof_error_memory(error) : 0;
    else if (!result)
        result = cut_paths(derive, error);
    for (size_t i = 0; i < derive->runs.count && !result; i++)
        result = run_costs(derive, &derive->runs.items[i], error);
    if (!result && derive_rows(derive))
        result = sprof_error_memory(error);
    return result;
}
