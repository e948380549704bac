/* From nodes to call paths, and from sample counts to every stored cost. */
#include "recording/derive_names.h"

#include <stdlib.h>
#include <string.h>

static const struct derive_frame *frame_of(const struct derive *derive, uint32_t id)
{
    return &derive->frames.items[*sprof_map_get(&derive->frame_index, id)];
}

static struct derive_node *parent_of(const struct derive *derive, const struct derive_node *node)
{
    return node->parent ? &derive->nodes.items[node->parent - 1] : NULL;
}

/* Parents come before their children. */
static void sum_up_nodes(struct derive *derive)
{
    for (size_t i = 0; i < derive->nodes.count; i++) {
        struct derive_node *node = &derive->nodes.items[i];
        const struct derive_frame *frame = frame_of(derive, node->frame);
        const struct derive_node *parent = parent_of(derive, node);
        if (!node->run)
            continue;
        node->named = (parent ? parent->named : 0) + recording_derive_frame_is_named(derive, frame);
        if (!derive->live || derive->repath)
            node->path = node->reading = 0;
    }
}

/* == Call paths == */

/* How many of a frame's inlined functions count as well: of calls none, for what is inlined at a
 * function's entry was not called. */
static uint32_t innermost_level(const struct derive_run *run, const struct derive_frame *frame)
{
    return run->calls.count && frame->chain_count ? frame->chain_count - 1 : 0;
}

/* A full recording: every node is a path, its inlined functions one level each. */
static int full_path(struct derive *derive, const struct derive_run *run, struct derive_node *node)
{
    const struct derive_frame *frame = frame_of(derive, node->frame);
    const struct derive_node *parent = parent_of(derive, node);
    uint32_t path = parent ? parent->path : 0;
    for (uint32_t k = frame->chain_count; k-- > innermost_level(run, frame);)
        if (model_paths_child(&derive->paths, path, derive->levels.items[frame->chain + k].function,
                              &path))
            return SPROF_ENOMEM;
    node->path = path;
    return 0;
}

/* A stack's functions, root first. */
struct callchain {
    SPROF_VEC(uint32_t) functions;
    SPROF_VEC(bool) is_app;
};

static int spell_out(const struct derive *derive, const struct derive_node *node,
                     struct callchain *chain)
{
    const struct model_functions functions = {derive->functions.items, derive->functions.count};
    chain->functions.count = chain->is_app.count = 0;
    for (; node; node = parent_of(derive, node)) {
        const struct derive_frame *frame = frame_of(derive, node->frame);
        for (uint32_t k = 0; k < frame->chain_count; k++)
            if (sprof_vec_push(&chain->functions, derive->levels.items[frame->chain + k].function))
                return SPROF_ENOMEM;
    }
    const size_t count = chain->functions.count;
    for (size_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = chain->functions.items[i];
        chain->functions.items[i] = chain->functions.items[count - 1 - i];
        chain->functions.items[count - 1 - i] = swapped;
    }
    for (size_t i = 0; i < count; i++)
        if (sprof_vec_push(&chain->is_app,
                           model_function_is_app(&functions, chain->functions.items[i])))
            return SPROF_ENOMEM;
    return 0;
}

/* Recordings in the other modes were cut by module; start-up functions are only known by name, and
 * inlined functions only now: the same cut again, by function, gives what `report --mode` would. */
static int cut_path(struct derive *derive, const struct model_view *view,
                    const struct derive_node *node, struct callchain *chain, uint32_t *cut)
{
    if (spell_out(derive, node, chain))
        return SPROF_ENOMEM;
    size_t first, last;
    uint32_t path = 0;
    if (!model_view_cut(view, chain->is_app.items, chain->functions.count, &first, &last)) {
        const struct derive_frame *frame = frame_of(derive, node->frame);
        const bool pseudo =
            !node->parent && frame->chain_count == 1 &&
            derive->functions.items[chain->functions.items[0] - 1].kind == MODEL_KIND_NONE;
        const uint32_t function = pseudo ? chain->functions.items[0] : derive->outside;
        if (!function) /* the module that the recorder makes for it is missing */
            return SPROF_EFORMAT;
        return model_paths_child(&derive->paths, 0, function, cut);
    }
    for (size_t i = first; i <= last; i++) {
        const bool drop =
            view->mode == MODEL_MODE_APP && view->drop_interior && !chain->is_app.items[i];
        if (!drop && model_paths_child(&derive->paths, path, chain->functions.items[i], &path))
            return SPROF_ENOMEM;
    }
    *cut = path;
    return 0;
}

static struct derive_node *node_of(const struct derive *derive,
                                   const struct store_thread_node_cost *pair)
{
    return &derive->nodes.items[recording_derive_find_node(derive, pair->node_id) - 1];
}

/* In a full recording every node is a path; in the others only where samples end. Nodes have the
 * paths of their own mode; where that of the run is another, what is added up is its. */
static int make_paths(struct derive *derive, const struct derive_run *run)
{
    struct callchain chain = {0};
    int result = 0;
    const uint32_t number = (uint32_t)(run - derive->runs.items) + 1;
    const bool several = run->phases.count;
    for (size_t i = 0; i < derive->nodes.count && !result; i++) {
        struct derive_node *node = &derive->nodes.items[i];
        const bool full = several ? node->in_full : run->view.mode == MODEL_MODE_FULL;
        if (node->run == number && full && !node->path)
            result = full_path(derive, run, node);
    }
    for (size_t k = 0; k < run->events.count; k++)
        for (size_t i = 0; i < run->events.items[k].pairs.count && !result; i++) {
            struct derive_node *node = node_of(derive, &run->events.items[k].pairs.items[i]);
            const struct model_view *own =
                several ? &run->phases.items[node->phase - 1].view : &run->view;
            if (!node->path)
                result = cut_path(derive, own, node, &chain, &node->path);
            if (several && !node->reading && !result)
                result = cut_path(derive, &run->view, node, &chain, &node->reading);
        }
    sprof_vec_release(&chain.functions);
    sprof_vec_release(&chain.is_app);
    return result;
}

/* == Rows of paths == */

struct finding {
    struct derive *derive;
    struct sprof_map known; /* id of a row → id in `paths` */
};

static int find_path(void *context, const struct model_path *row)
{
    struct finding *finding = context;
    struct derive *derive = finding->derive;
    const uint64_t *parent = row->parent ? sprof_map_get(&finding->known, row->parent) : NULL;
    const uint32_t path =
        row->parent && !parent
            ? 0
            : model_paths_find(&derive->paths, parent ? (uint32_t)*parent : 0, row->function);
    if (!path)
        return 0;
    derive->path_rows.items[path - 1] = row->id;
    return sprof_map_put(&finding->known, row->id, path);
}

/* The new run's paths that may be stored already: their functions were known before, and so may
 * their callers' paths be. */
struct known_paths {
    size_t count;
    SPROF_VEC(uint32_t) functions;
};

static int find_known(const struct derive *derive, struct known_paths *known)
{
    const size_t count = derive->paths.items.count;
    bool *is_known = calloc(count + 1, sizeof *is_known);
    bool *is_listed = calloc((size_t)derive->last.function + 1, sizeof *is_listed);
    int result = is_known && is_listed ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_path *path = &derive->paths.items.items[i];
        is_known[i] = path->function <= derive->last.function &&
                      (!path->parent || is_known[path->parent - 1]);
        known->count += is_known[i];
        if (is_known[i] && !is_listed[path->function]) {
            is_listed[path->function] = true;
            result = sprof_vec_push(&known->functions, path->function);
        }
    }
    free(is_known);
    free(is_listed);
    return result;
}

/* Where the stored paths are many, those of a short run are looked up instead of read: a row that
 * is read costs about a quarter of one that is looked up. The index for it takes as long as reading
 * all of them four times, so that only a file of several runs gets one. In others only the rows of
 * its functions are read, unless these are a long list. */
enum { RUNS_WORTH_AN_INDEX = 4, FUNCTIONS_LISTED = 500 };

static int find_paths(struct derive *derive, struct sprof_error *error)
{
    struct finding finding = {.derive = derive};
    struct known_paths known = {0};
    int result = find_known(derive, &known);
    if (!result && derive->last.run > RUNS_WORTH_AN_INDEX && known.count &&
        known.count < derive->last.path / 4)
        result = store_find_paths(derive->store, derive->paths.items.items,
                                  derive->paths.items.count, derive->path_rows.items, error);
    else if (!result && known.functions.count > FUNCTIONS_LISTED)
        result = store_each_path(derive->store, find_path, &finding, error);
    else if (!result && known.count)
        result = store_each_path_of_functions(derive->store, known.functions.items,
                                              known.functions.count, find_path, &finding, error);
    sprof_vec_release(&known.functions);
    sprof_map_release(&finding.known);
    return result;
}

/* Paths that are stored keep their rows, which other runs may have in common with these. */
static int number_paths(struct derive *derive, struct sprof_error *error)
{
    uint32_t last = derive->all ? 0 : derive->last.path;
    const size_t known = derive->path_rows.count; /* of a run that goes on */
    int result = sprof_vec_reserve(&derive->path_rows, derive->paths.items.count + 1);
    if (!result && !last)
        result = sprof_vec_reserve(&derive->derived.paths, derive->paths.items.count);
    for (size_t i = known; i < derive->paths.items.count && !result; i++)
        result = sprof_vec_push(&derive->path_rows, 0);
    if (!result && last && !derive->live)
        result = find_paths(derive, error);
    for (size_t i = known; i < derive->paths.items.count && !result; i++) {
        struct model_path row = derive->paths.items.items[i];
        if (derive->path_rows.items[i])
            continue;
        row.id = derive->path_rows.items[i] = derive->live ? last + (uint32_t)i + 1 : ++last;
        row.parent = row.parent ? derive->path_rows.items[row.parent - 1] : 0;
        result = sprof_vec_push(&derive->derived.paths, row);
    }
    return result;
}

/* == Costs == */

/* A node of a damaged file may have no path. */
static void add_cost(struct model_paths *paths, uint32_t path, struct model_cost cost)
{
    if (path)
        model_paths_add(paths, path, cost);
}

/* A run and one of its events. */
struct costed {
    uint32_t run, event;
    const uint64_t *totals; /* inclusive times by function id, where calls were measured; or NULL */
};

static bool is_zero(const struct model_costs *costs)
{
    return !costs->inclusive.samples && !costs->inclusive.weight;
}

#define PUSH_COSTS(derive, vec, run_row, row_id, row_costs)                                        \
    sprof_vec_push(vec, (struct store_cost){.run_id = (run_row)->run,                              \
                                            .event_id = (run_row)->event,                          \
                                            .id = (row_id),                                        \
                                            .costs = (row_costs)})

static int path_costs(struct derive *derive, const struct costed *run)
{
    for (size_t i = 0; i < derive->paths.items.count; i++) {
        const struct model_path *path = &derive->paths.items.items[i];
        struct model_costs costs = path->costs;
        if (run->totals && !path->parent)
            costs.inclusive.weight = run->totals[path->function];
        if (!is_zero(&path->costs) &&
            PUSH_COSTS(derive, &derive->derived.path_costs, run, derive->path_rows.items[i], costs))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int function_costs(struct derive *derive, const struct costed *run)
{
    const struct model_functions functions = {derive->functions.items, derive->functions.count};
    struct model_costs *costs = calloc(functions.count + 1, sizeof *costs);
    int result = costs ? model_function_costs(&derive->paths, &functions, costs) : SPROF_ENOMEM;
    for (size_t i = 0; run->totals && i < functions.count && !result; i++)
        costs[i].inclusive.weight = run->totals[i + 1];
    for (size_t i = 0; i < functions.count && !result; i++)
        if (!is_zero(&costs[i]))
            result =
                PUSH_COSTS(derive, &derive->derived.function_costs, run, (uint32_t)i + 1, costs[i]);
    free(costs);
    return result;
}

static int module_costs(struct derive *derive, const struct costed *run)
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

static int edge_costs(struct derive *derive, const struct costed *run)
{
    struct model_edges edges = {0};
    int result = model_edge_costs(&derive->paths, &edges);
    for (size_t i = 0; i < edges.items.count && !result; i++) {
        struct store_edge_cost row = {run->run, run->event, edges.items.items[i]};
        if (run->totals) /* calls of the callee, and none of what it called */
            row.edge.cost.samples = row.edge.innermost.samples;
        result = sprof_vec_push(&derive->derived.edge_costs, row);
    }
    model_edges_release(&edges);
    return result;
}

/* == Lines == */

/* The tree of stacks by source line: its "functions" are places, a place is a file, line and
 * function. */
struct line_tree {
    struct model_paths paths;
    struct sprof_map index;        /* place → number */
    SPROF_VEC(uint32_t) frames;    /* [number - 1]: the smallest id of a frame there */
    SPROF_VEC(uint32_t) node_path; /* by position of the node */
};

static void line_tree_release(struct line_tree *tree)
{
    model_paths_release(&tree->paths);
    sprof_map_release(&tree->index);
    sprof_vec_release(&tree->frames);
    sprof_vec_release(&tree->node_path);
}

/* The number of a place; 0 when out of memory. */
static uint32_t number_place(struct line_tree *tree, const struct derive_level *level)
{
    const uint64_t file = level->file ? sprof_hash_text(level->file) : 0;
    const uint64_t place = sprof_hash_pair(sprof_hash_pair(level->function, level->line), file);
    const uint64_t *known = sprof_map_get(&tree->index, place);
    if (known) {
        uint32_t *frame = &tree->frames.items[*known - 1];
        *frame = level->frame < *frame ? level->frame : *frame;
        return (uint32_t)*known;
    }
    if (sprof_vec_push(&tree->frames, level->frame) ||
        sprof_map_put(&tree->index, place, tree->frames.count))
        return 0;
    return (uint32_t)tree->frames.count;
}

/* The nodes that samples of a run stand on, some of which it may have in common with others. */
static bool *nodes_of_run(const struct derive *derive, const struct derive_run *run)
{
    bool *is_of_run = calloc(derive->nodes.count + 1, sizeof *is_of_run);
    if (!is_of_run)
        return NULL;
    for (size_t k = 0; k < run->events.count; k++)
        for (size_t i = 0; i < run->events.items[k].pairs.count; i++)
            is_of_run[node_of(derive, &run->events.items[k].pairs.items[i]) - derive->nodes.items] =
                true;
    for (size_t i = derive->nodes.count; i-- > 0;)
        if (is_of_run[i] && derive->nodes.items[i].parent)
            is_of_run[derive->nodes.items[i].parent - 1] = true;
    return is_of_run;
}

static int make_line_tree(struct derive *derive, const struct derive_run *run,
                          struct line_tree *tree)
{
    bool *is_of_run = nodes_of_run(derive, run);
    int result =
        is_of_run ? sprof_vec_reserve(&tree->node_path, derive->nodes.count) : SPROF_ENOMEM;
    for (size_t i = 0; i < derive->nodes.count && !result; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        uint32_t path = node->parent ? tree->node_path.items[node->parent - 1] : 0;
        const struct derive_frame *frame = frame_of(derive, node->frame);
        for (uint32_t k = is_of_run[i] ? frame->chain_count : 0;
             k-- > innermost_level(run, frame) && !result;) {
            const uint32_t place = number_place(tree, &derive->levels.items[frame->chain + k]);
            if (!place || model_paths_child(&tree->paths, path, place, &path))
                result = SPROF_ENOMEM;
        }
        if (!result)
            result = sprof_vec_push(&tree->node_path, path);
    }
    free(is_of_run);
    return result;
}

static int line_costs(struct derive *derive, const struct costed *run,
                      const struct derive_event *event, struct line_tree *tree)
{
    struct model_costs *costs = calloc(tree->frames.count + 1, sizeof *costs);
    model_paths_clear_costs(&tree->paths);
    for (size_t i = 0; i < event->pairs.count; i++) {
        const struct derive_node *node = node_of(derive, &event->pairs.items[i]);
        add_cost(&tree->paths, tree->node_path.items[node - derive->nodes.items],
                 event->pairs.items[i].cost);
    }
    model_paths_sum(&tree->paths);
    int result = costs ? model_line_costs(&tree->paths, tree->frames.count, costs) : SPROF_ENOMEM;
    for (size_t i = 0; i < tree->frames.count && !result; i++)
        if (!is_zero(&costs[i]))
            result = PUSH_COSTS(derive, &derive->derived.line_costs, run, tree->frames.items[i],
                                costs[i]);
    free(costs);
    return result;
}

/* Behind all others, so that its tree and what those needed are not in memory together. */
static int all_line_costs(struct derive *derive, const struct derive_run *run)
{
    struct line_tree tree = {0};
    int result = make_line_tree(derive, run, &tree);
    sprof_map_release(&tree.paths.index);
    for (size_t k = 0; k < run->events.count && !result; k++) {
        const struct costed costed = {run->id, run->events.items[k].id, NULL};
        result = line_costs(derive, &costed, &run->events.items[k], &tree);
    }
    line_tree_release(&tree);
    return result;
}

/* == All == */

static int event_costs(struct derive *derive, const struct derive_run *run,
                       const struct derive_event *event, const uint64_t *totals)
{
    const struct costed costed = {run->id, event->id, totals};
    model_paths_clear_costs(&derive->paths);
    for (size_t i = 0; i < event->pairs.count; i++) {
        const struct derive_node *node = node_of(derive, &event->pairs.items[i]);
        add_cost(&derive->paths, run->phases.count ? node->reading : node->path,
                 event->pairs.items[i].cost);
    }
    model_paths_sum(&derive->paths);
    if (derive->live)
        return path_costs(derive, &costed) || (totals && function_costs(derive, &costed))
                   ? SPROF_ENOMEM
                   : 0;
    return path_costs(derive, &costed) || function_costs(derive, &costed) ||
                   module_costs(derive, &costed) || edge_costs(derive, &costed)
               ? SPROF_ENOMEM
               : 0;
}

static int run_costs(struct derive *derive, struct derive_run *run, struct sprof_error *error)
{
    int result = 0;
    run->summary.named_frames = 0;
    for (size_t k = 0; k < run->events.count && !result; k++) {
        const struct derive_event *event = &run->events.items[k];
        for (size_t i = 0; i < event->pairs.count; i++)
            run->summary.named_frames +=
                event->pairs.items[i].cost.samples * node_of(derive, &event->pairs.items[i])->named;
        uint64_t *totals =
            run->calls.count ? calloc(derive->functions.count + 1, sizeof *totals) : NULL;
        if (run->calls.count && !totals)
            result = SPROF_ENOMEM;
        if (totals)
            recording_derive_call_totals(derive, run, event->id, totals);
        if (!result)
            result = event_costs(derive, run, event, totals);
        free(totals);
    }
    if (!result && (!derive->live || derive->lines))
        result = all_line_costs(derive, run);
    if (!result)
        result = recording_derive_call_latencies(derive, run);
    if (!result)
        result = recording_derive_coverage(derive, run, error);
    return result ? result : sprof_vec_push(&derive->derived.sample_summaries, run->summary);
}

int recording_derive_costs(struct derive *derive, struct sprof_error *error)
{
    sum_up_nodes(derive);
    int result = 0;
    for (size_t i = 0; i < derive->runs.count && !result; i++)
        if (!derive->runs.items[i].kept)
            result = make_paths(derive, &derive->runs.items[i]);
    if (!result)
        result = number_paths(derive, error);
    if (!derive->live) /* all paths are known */
        sprof_map_release(&derive->paths.index);
    for (size_t i = 0; i < derive->runs.count && !result; i++)
        if (!derive->runs.items[i].kept)
            result = run_costs(derive, &derive->runs.items[i], error);
    if (error && error->code) /* the store's */
        return result;
    if (result == SPROF_EFORMAT)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "the recording is damaged: the module of samples outside the "
                               "application is missing");
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

int recording_derive_changed_rows(struct derive *derive)
{
    struct store_derived *derived = &derive->derived;
    derived->replaces_paths = derive->all && !derive->nothing_new;
    derived->leaves_paths = !derive->all && derive->source->unnamed && !derive->nothing_new;
    for (size_t i = 0; i < derive->runs.count && !derive->nothing_new; i++)
        if (!derive->runs.items[i].kept && sprof_vec_push(&derived->runs, derive->runs.items[i].id))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < derive->modules.count; i++)
        if (derive->modules.items[i].changed &&
            sprof_vec_push(&derived->modules, derive->modules.items[i].row))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < derive->function_rows.count; i++)
        if (derive->function_changed.items[i] &&
            sprof_vec_push(&derived->functions, derive->function_rows.items[i]))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        if (!node->has_row || !node->path)
            continue;
        const struct store_node_path row = {node->id, derive->path_rows.items[node->path - 1]};
        if (sprof_vec_push(&derived->node_paths, row))
            return SPROF_ENOMEM;
    }
    return 0;
}
