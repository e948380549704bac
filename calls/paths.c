/* Reads call paths of threads.
 *
 * The agent counts a call first in its path, then in its function; sprof reads in the opposite
 * order. So calls only in the function have no path, and newer calls are only in paths. The sum is
 * correct, so trees and functions agree. */
#include "calls/outside.h"
#include "calls/program.h"
#include "probing/probing.h"

struct node {
    uint32_t function, parent;
    bool leaves; /* a function outside of the traced modules, called by the parent */
};

/* Returns false for impossible nodes. */
static bool node_at(const struct calls_program *program, const struct probe_node *nodes,
                    uint32_t index, struct node *node)
{
    const uint64_t key = nodes[index].key;
    const uint32_t function = probing_points_caller(&program->probing, (uint32_t)key - 1);
    *node = (struct node){function, PROBE_NODE_PARENT(key), calls_outside_has(program, function)};
    if (node->leaves)
        return index && key && node->parent;
    return index && key && function < program->probes.count &&
           program->probes.items[function].is_chosen;
}

static struct calls_path *find(struct calls_thread *thread, uint32_t index)
{
    const uint64_t *known = sprof_map_get(&thread->path_index, index);
    return known ? &thread->paths.items[*known] : NULL;
}

/* The time of a path that leaves the modules is its caller's. */
static int add_path(struct calls_program *program, struct calls_thread *thread, uint32_t index,
                    const struct node *node)
{
    const struct calls_path *parent = find(thread, node->parent);
    struct calls_path path = {
        .index = index, .leaves = node->leaves, .cell = {.function = node->function}};
    if (node->leaves && (!parent || parent->leaves))
        return 0;
    if (node->leaves)
        path.cell.function = parent->cell.function;
    const uint32_t above = parent ? parent->stack : 0;
    int result = node->leaves ? calls_outside_node(program, node->function, above, &path.stack)
                              : calls_node_of(program, node->function, above, &path.stack);
    path.is_unplaced = result == SPROF_ENOTFOUND && node->leaves;
    if (path.is_unplaced) {
        path.stack = above;
        result = 0;
    }
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    return sprof_map_put(&thread->path_index, index, thread->paths.count) ||
                   sprof_vec_push(&thread->paths, path)
               ? SPROF_ENOMEM
               : 0;
}

static int make_path(struct calls_program *program, struct calls_thread *thread,
                     const struct probe_node *nodes, uint32_t index)
{
    uint32_t chain[PROBE_PATH_DEPTH];
    size_t count = 0;
    struct node node = {0};
    int result = 0;
    for (uint32_t at = index;
         count < PROBE_PATH_DEPTH && !find(thread, at) && node_at(program, nodes, at, &node);
         at = node.parent)
        chain[count++] = at;
    while (count-- && !result) {
        if (!node_at(program, nodes, chain[count], &node))
            break;
        result = add_path(program, thread, chain[count], &node);
    }
    return result;
}

static int note_node(struct calls_program *program, struct calls_thread *thread,
                     const struct probe_node *nodes, uint32_t index, struct calls_path **path)
{
    const volatile struct probe_node *from = &nodes[index];
    struct node node;
    *path = NULL;
    if (!node_at(program, nodes, index, &node) || !from->calls)
        return 0;
    if (!find(thread, index) && make_path(program, thread, nodes, index))
        return SPROF_ENOMEM;
    *path = find(thread, index);
    if (!*path)
        return 0;
    (*path)->now = counters_node_read(from);
    return 0;
}

static int read_node(struct calls_program *program, struct calls_thread *thread,
                     const struct probe_node *nodes, uint32_t index)
{
    struct calls_path *path;
    const int result = note_node(program, thread, nodes, index, &path);
    if (!path)
        return result;
    struct calls_cell *cell = &path->cell;
    const uint64_t calls = path->now.calls - path->base_calls;
    const int64_t self = (int64_t)((uint64_t)path->now.self - (uint64_t)path->base_self);
    /* Time of calls outside without a node comes while the caller's call is open. */
    if (!calls ||
        (cell->calls == calls && cell->ended == path->now.ended && cell->phase_self == self))
        return 0;
    cell->calls = calls;
    cell->ended = path->now.ended;
    return calls_put_sample(program, path->is_unplaced ? 0 : calls, self, thread->row, path->stack,
                            cell);
}

static int clear_node(struct calls_program *program, struct calls_thread *thread,
                      const struct probe_node *nodes, uint32_t index)
{
    struct calls_path *path;
    const int result = note_node(program, thread, nodes, index, &path);
    if (!path)
        return result;
    path->base_calls = path->now.ended; /* open calls count in the new period */
    path->base_self = path->now.self;
    path->cell = (struct calls_cell){.function = path->cell.function};
    return 0;
}

static int each_node(struct calls_program *program, struct calls_thread *thread, uint32_t slab,
                     int (*take)(struct calls_program *, struct calls_thread *,
                                 const struct probe_node *, uint32_t))
{
    const struct counters_pages pages = calls_pages(program);
    struct counters_walk walk = counters_walk_nodes(&pages, slab);
    int result = 0;
    while (!result && counters_walk_next(&walk)) {
        const struct probe_node *node = walk.entry;
        result = take(program, thread, node - walk.index, walk.index);
    }
    return result;
}

static int add_up(struct calls_thread *thread)
{
    for (size_t i = 0; i < thread->cells.count; i++) {
        struct calls_cell *cell = &thread->cells.items[i];
        cell->path_calls = 0;
        cell->path_self = 0;
        cell->in_paths = (struct counters_sum){0};
    }
    for (size_t i = 0; i < thread->paths.count; i++) {
        const struct calls_path *path = &thread->paths.items[i];
        struct calls_cell *cell = calls_cell_of(thread, path->cell.function);
        struct counters_sum sum = path->now;
        if (!cell)
            return SPROF_ENOMEM;
        if (path->leaves)
            sum.calls = sum.ended = 0;
        else
            cell->path_calls += path->cell.phase_calls;
        cell->path_self = (int64_t)((uint64_t)cell->path_self + (uint64_t)path->cell.phase_self);
        counters_sum_add(&cell->in_paths, &sum);
        if (!cell->stack && path->cell.sample && !path->leaves) /* only --paths has stacks */
            cell->stack = path->stack;
    }
    return 0;
}

static int each_path(struct calls_program *program, struct calls_thread *thread, uint32_t slab,
                     int (*take)(struct calls_program *, struct calls_thread *,
                                 const struct probe_node *, uint32_t))
{
    int result = each_node(program, thread, slab, take);
    if (!result)
        result = add_up(thread);
    for (size_t i = 0; i < thread->cells.count && !result; i++) {
        struct calls_cell *cell = &thread->cells.items[i];
        counters_sum_alone(&cell->alone, &cell->seen, &cell->in_paths);
    }
    return result;
}

bool calls_has_paths(const struct calls_program *program, const struct calls_thread *thread)
{
    return (program->options.paths || program->options.callers) && !thread->shares;
}

int calls_read_paths(struct calls_program *program, struct calls_thread *thread, uint32_t slab)
{
    return each_path(program, thread, slab, read_node);
}

int calls_clear_paths(struct calls_program *program, struct calls_thread *thread, uint32_t slab)
{
    return each_path(program, thread, slab, clear_node);
}
