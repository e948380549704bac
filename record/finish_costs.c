/* From nodes to call paths, and from sample counts to every stored cost. */
#include "record/finish.h"

#include <string.h>

static const struct finish_frame *frame_of(const struct finish *finish, uint32_t id)
{
    const uint64_t *index = sprof_map_get(&finish->frame_index, id);
    return index ? &finish->frames.items[*index] : NULL;
}

static struct finish_node *node_of(const struct finish *finish, uint32_t id)
{
    const uint64_t *index = id ? sprof_map_get(&finish->node_index, id) : NULL;
    return index ? &finish->nodes.items[*index] : NULL;
}

static int damaged(struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EFORMAT, 0,
        "the recording is damaged: its call tree refers to rows that are missing");
}

static bool is_named(const struct finish *finish, const struct finish_frame *frame)
{
    return frame->chain_count &&
           finish->derived.functions.items[finish->chains.items[frame->chain] - 1].named;
}

/* Parents come before their children. Keys are content: the same stack has the same key everywhere.
 */
static int sum_up_nodes(struct finish *finish, struct sprof_error *error)
{
    for (size_t i = 0; i < finish->nodes.count; i++) {
        struct finish_node *node = &finish->nodes.items[i];
        const struct finish_frame *frame = frame_of(finish, node->frame);
        const struct finish_node *parent = node_of(finish, node->parent);
        if (!frame || (node->parent && (!parent || parent >= node)))
            return damaged(error);
        node->key = model_node_key(parent ? parent->key : 0, frame->key);
        node->named = (parent ? parent->named : 0) + is_named(finish, frame);
    }
    return 0;
}

/* ---- Call paths --------------------------------------------------------------------------------
 */

/* A full recording: every node is a path, its inlined functions one level each. */
static int full_paths(struct finish *finish)
{
    for (size_t i = 0; i < finish->nodes.count; i++) {
        struct finish_node *node = &finish->nodes.items[i];
        const struct finish_frame *frame = frame_of(finish, node->frame);
        const struct finish_node *parent = node_of(finish, node->parent);
        uint32_t path = parent ? parent->path : 0;
        for (uint32_t k = frame->chain_count; k-- > 0;)
            if (model_paths_child(&finish->paths, path, finish->chains.items[frame->chain + k],
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

static int spell_out(const struct finish *finish, const struct finish_node *node, struct line *line)
{
    const struct model_functions functions = {finish->functions.items, finish->functions.count};
    line->functions.count = line->is_app.count = 0;
    for (; node; node = node_of(finish, node->parent)) {
        const struct finish_frame *frame = frame_of(finish, node->frame);
        for (uint32_t k = 0; k < frame->chain_count; k++)
            if (sprof_vec_push(&line->functions, finish->chains.items[frame->chain + k]))
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
static int cut_path(struct finish *finish, struct finish_node *node, struct line *line)
{
    if (spell_out(finish, node, line))
        return SPROF_ENOMEM;
    size_t first, last;
    uint32_t path = 0;
    if (!model_view_cut(&finish->view, line->is_app.items, line->functions.count, &first, &last)) {
        const struct finish_frame *frame = frame_of(finish, node->frame);
        const bool pseudo =
            !node->parent && frame->chain_count == 1 &&
            finish->functions.items[line->functions.items[0] - 1].kind == MODEL_KIND_NONE;
        const uint32_t function = pseudo ? line->functions.items[0] : finish->view.outside;
        if (!function) /* the module that the recorder makes for it is missing */
            return SPROF_EFORMAT;
        return model_paths_child(&finish->paths, 0, function, &node->path);
    }
    for (size_t i = first; i <= last; i++) {
        const bool drop = finish->view.mode == MODEL_MODE_APP && finish->view.drop_interior &&
                          !line->is_app.items[i];
        if (!drop && model_paths_child(&finish->paths, path, line->functions.items[i], &path))
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

static int cut_paths(struct finish *finish, struct sprof_error *error)
{
    struct sprof_map sampled = {0};
    struct line line = {0};
    int result = 0;
    for (size_t i = 0; i < finish->runs.count && !result; i++) {
        const struct store_filter filter = {.run_id = finish->runs.items[i].id};
        result = store_each_node_cost(finish->store, &filter, mark_sampled, &sampled, error);
    }
    for (size_t i = 0; i < finish->nodes.count && !result; i++)
        if (sprof_map_get(&sampled, finish->nodes.items[i].id))
            result = cut_path(finish, &finish->nodes.items[i], &line);
    if (result == SPROF_EFORMAT)
        damaged(error);
    else if (result == SPROF_ENOMEM)
        sprof_error_memory(error);
    sprof_map_release(&sampled);
    sprof_vec_release(&line.functions);
    sprof_vec_release(&line.is_app);
    return result;
}

/* ---- Costs -------------------------------------------------------------------------------------
 */

static int add_node_cost(void *context, const struct store_node_cost *cost)
{
    struct finish *finish = context;
    const struct finish_node *node = node_of(finish, cost->node_id);
    if (node && node->path)
        model_paths_add(&finish->paths, node->path, cost->cost);
    return 0;
}

static bool is_zero(const struct model_costs *costs)
{
    return !costs->inclusive.samples && !costs->inclusive.weight;
}

#define PUSH_COSTS(finish, vec, run_row, row_id, row_costs)                                        \
    sprof_vec_push(vec, (struct store_path_cost){.run_id = (run_row)->id,                          \
                                                 .event_id = (run_row)->event,                     \
                                                 .id = (row_id),                                   \
                                                 .costs = (row_costs)})

static int path_costs(struct finish *finish, const struct finish_run *run)
{
    for (size_t i = 0; i < finish->paths.items.count; i++) {
        const struct model_path *path = &finish->paths.items.items[i];
        if (!is_zero(&path->costs) &&
            PUSH_COSTS(finish, &finish->derived.path_costs, run, path->id, path->costs))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int function_costs(struct finish *finish, const struct finish_run *run)
{
    const struct model_functions functions = {finish->functions.items, finish->functions.count};
    struct model_costs *costs = calloc(functions.count + 1, sizeof *costs);
    int result = costs ? model_function_costs(&finish->paths, &functions, costs) : SPROF_ENOMEM;
    for (size_t i = 0; i < functions.count && !result; i++)
        if (!is_zero(&costs[i]))
            result =
                PUSH_COSTS(finish, &finish->derived.function_costs, run, (uint32_t)i + 1, costs[i]);
    free(costs);
    return result;
}

static int module_costs(struct finish *finish, const struct finish_run *run)
{
    const struct model_functions functions = {finish->functions.items, finish->functions.count};
    const size_t count = finish->modules.count;
    struct model_costs *costs = calloc(count + 1, sizeof *costs);
    int result =
        costs ? model_module_costs(&finish->paths, &functions, costs, count) : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        if (!is_zero(&costs[i]))
            result = PUSH_COSTS(finish, &finish->derived.module_costs, run,
                                finish->modules.items[i].row.id, costs[i]);
    free(costs);
    return result;
}

static int edge_costs(struct finish *finish, const struct finish_run *run)
{
    struct model_edges edges = {0};
    int result = model_edge_costs(&finish->paths, &edges);
    for (size_t i = 0; i < edges.items.count && !result; i++) {
        const struct store_edge_cost row = {run->id, run->event, edges.items.items[i]};
        result = sprof_vec_push(&finish->derived.edge_costs, row);
    }
    model_edges_release(&edges);
    return result;
}

static int run_costs(struct finish *finish, const struct finish_run *run, struct sprof_error *error)
{
    for (size_t i = 0; i < finish->paths.items.count; i++)
        finish->paths.items.items[i].costs = (struct model_costs){0};
    const struct store_filter filter = {.run_id = run->id};
    const int result = store_each_node_cost(finish->store, &filter, add_node_cost, finish, error);
    if (result)
        return result;
    model_paths_sum(&finish->paths);
    if (path_costs(finish, run) || function_costs(finish, run) || module_costs(finish, run) ||
        edge_costs(finish, run))
        return sprof_error_memory(error);
    return 0;
}

static int derive_rows(struct finish *finish)
{
    for (size_t i = 0; i < finish->nodes.count; i++) {
        const struct finish_node *node = &finish->nodes.items[i];
        const struct store_node row = {
            .id = node->id, .key = node->key, .named = node->named, .path_id = node->path};
        if (sprof_vec_push(&finish->derived.nodes, row))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < finish->paths.items.count; i++)
        if (sprof_vec_push(&finish->derived.paths, finish->paths.items.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

int finish_costs(struct finish *finish, struct sprof_error *error)
{
    int result = sum_up_nodes(finish, error);
    if (!result && finish->view.mode == MODEL_MODE_FULL)
        result = full_paths(finish) ? sprof_error_memory(error) : 0;
    else if (!result)
        result = cut_paths(finish, error);
    for (size_t i = 0; i < finish->runs.count && !result; i++)
        result = run_costs(finish, &finish->runs.items[i], error);
    if (!result && derive_rows(finish))
        result = sprof_error_memory(error);
    return result;
}
