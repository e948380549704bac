/* Call paths: which function was called below which, as the agent counts them in each thread. */
#include "trace/points.h"

#include <unistd.h>

struct node {
    uint32_t function, parent;
};

/* The command can write anything there: a node that cannot be is none. */
static bool node_at(const struct trace_session *session, const struct probe_node *nodes,
                    uint32_t index, struct node *node)
{
    const uint64_t key = nodes[index].key;
    const uint32_t function = trace_points_caller(session, (uint32_t)key - 1);
    *node = (struct node){function, PROBE_NODE_PARENT(key)};
    return index && key && function < session->probes.count &&
           session->probes.items[function].is_chosen;
}

static struct trace_path *find(struct trace_thread *thread, uint32_t index)
{
    const uint64_t *known = sprof_map_get(&thread->path_index, index);
    return known ? &thread->paths.items[*known] : NULL;
}

/* What the recording calls the stack of a node whose caller's is known. */
static int add_path(struct trace_session *session, struct trace_thread *thread, uint32_t index,
                    uint32_t function, uint32_t parent_stack)
{
    struct trace_path path = {.index = index, .cell = {.function = function}};
    const int result = trace_node_of(session, function, parent_stack, &path.stack);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    return sprof_map_put(&thread->path_index, index, thread->paths.count) ||
                   sprof_vec_push(&thread->paths, path)
               ? SPROF_ENOMEM
               : 0;
}

/* A node and all above it that are not known yet, outermost first. */
static int make_path(struct trace_session *session, struct trace_thread *thread,
                     const struct probe_node *nodes, uint32_t index)
{
    uint32_t chain[PROBE_PATH_DEPTH];
    size_t count = 0;
    struct node node = {0};
    int result = 0;
    for (uint32_t at = index;
         count < PROBE_PATH_DEPTH && !find(thread, at) && node_at(session, nodes, at, &node);
         at = node.parent)
        chain[count++] = at;
    while (count-- && !result) {
        if (!node_at(session, nodes, chain[count], &node))
            break;
        const struct trace_path *parent = find(thread, node.parent);
        result = add_path(session, thread, chain[count], node.function, parent ? parent->stack : 0);
    }
    return result;
}

static int read_node(struct trace_session *session, struct trace_thread *thread,
                     const struct probe_node *nodes, uint32_t index)
{
    struct node node;
    if (!node_at(session, nodes, index, &node) || !nodes[index].calls)
        return 0;
    if (!find(thread, index) && make_path(session, thread, nodes, index))
        return SPROF_ENOMEM;
    struct trace_path *path = find(thread, index);
    if (!path)
        return 0;
    struct trace_cell *cell = &path->cell;
    const uint64_t calls = nodes[index].calls - path->base_calls;
    const int64_t self = (int64_t)((uint64_t)nodes[index].self - (uint64_t)path->base_self);
    if (!calls || (cell->calls == calls && cell->ended == nodes[index].ended))
        return 0;
    cell->calls = calls;
    cell->ended = nodes[index].ended;
    return trace_put_sample(session, calls, self, thread->row, path->stack, cell);
}

static int clear_node(struct trace_session *session, struct trace_thread *thread,
                      const struct probe_node *nodes, uint32_t index)
{
    (void)session;
    struct trace_path *path = find(thread, index);
    if (!path)
        return 0;
    path->base_calls = nodes[index].ended; /* those that are open are of the new period */
    path->base_self = nodes[index].self;
    path->cell = (struct trace_cell){.function = path->cell.function};
    return 0;
}

/* Only what was written to exists. */
static int each_node(struct trace_session *session, struct trace_thread *thread, uint64_t begin,
                     int (*take)(struct trace_session *, struct trace_thread *,
                                 const struct probe_node *, uint32_t))
{
    const uint64_t end = begin + PROBE_NODES * sizeof(struct probe_node);
    const struct probe_node *nodes =
        (const struct probe_node *)((const uint8_t *)session->shared + begin);
    int result = 0;
    for (uint64_t at = begin; at < end && !result;) {
        const off_t data = lseek(session->memory_fd, (off_t)at, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end)
            break;
        const off_t hole = lseek(session->memory_fd, data, SEEK_HOLE);
        const uint64_t stop = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
        const uint32_t last = (uint32_t)((stop - begin) / sizeof *nodes);
        for (uint32_t i = (uint32_t)(((uint64_t)data - begin) / sizeof *nodes); i < last && !result;
             i++)
            result = take(session, thread, nodes, i);
        at = stop;
    }
    return result;
}

/* Sums by function: what is in no path counts for the function alone. */
static int add_up(struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->cells.count; i++)
        thread->cells.items[i].path_calls = 0, thread->cells.items[i].path_self = 0;
    for (size_t i = 0; i < thread->paths.count; i++) {
        const struct trace_path *path = &thread->paths.items[i];
        struct trace_cell *cell = trace_cell_of(thread, path->cell.function);
        if (!cell)
            return SPROF_ENOMEM;
        cell->path_calls += path->cell.phase_calls;
        cell->path_self += path->cell.phase_self;
        if (!cell->stack && path->cell.sample) /* callers alone have none */
            cell->stack = path->stack;
    }
    return 0;
}

int trace_read_paths(struct trace_session *session, struct trace_thread *thread, uint64_t nodes)
{
    if ((!session->options.paths && !session->options.callers) || thread->shares)
        return 0;
    const int result = each_node(session, thread, nodes, read_node);
    return result ? result : add_up(thread);
}

int trace_clear_paths(struct trace_session *session, struct trace_thread *thread, uint64_t nodes)
{
    if ((!session->options.paths && !session->options.callers) || thread->shares)
        return 0;
    const int result = each_node(session, thread, nodes, clear_node);
    return result ? result : add_up(thread);
}
