/* Path nodes, and which pages of figures the tracing agent may use. */
#ifndef SPROF_AGENT_PROBE_PATHS_H
#define SPROF_AGENT_PROBE_PATHS_H

#include "agent/probe/thread.h"

/* == Memory that is not to grow == */

static inline bool has_bit(const _Atomic uint8_t *bits, uint64_t at)
{
    return atomic_load_explicit(&bits[at / 8], memory_order_relaxed) >> at % 8 & 1;
}

/* Whether the page exists or may be made. */
static inline bool has_page(const struct thread *thread, uint32_t extras, uint32_t function)
{
    return !(extras & PROBE_SPARE) || function >= probe_inside.function_count ||
           has_bit(probe_inside.shared->pages.stats[thread->slab],
                   function * sizeof(struct probe_stat) / PROBE_PAGE);
}

static inline bool has_node_page(const struct thread *thread, uint32_t node)
{
    return has_bit(probe_inside.shared->pages.nodes[thread->slab],
                   node * sizeof(struct probe_node) / PROBE_PAGE);
}

/* == Paths == */

/* Which nodes a function may have: one outside the modules has nothing below it, and takes no room
 * that a path needs. */
enum { OF_PATHS = 1, OF_OUTSIDE = 4 };

/* Finds or makes the node, among each so-many-th of all. 0: no room, or search too long. */
static inline uint32_t node_below(const struct thread *thread, uint32_t parent, uint32_t function,
                                  uint32_t step, bool is_spare)
{
    enum { LOOKS = 32 };
    struct probe_node *nodes = thread->nodes;
    uint64_t depth = parent ? PROBE_NODE_DEPTH(nodes[parent].key) + 1 : 0;
    if (depth >= PROBE_PATH_DEPTH)
        depth = parent = 0;
    const uint64_t key = depth << 48 | (uint64_t)parent << 32 | (function + 1);
    uint32_t at = (parent * 0x9e3779b1u + function * 0x85ebca77u) >> 16 | (step - 1);
    for (uint32_t i = 0; i < LOOKS; i += step, at += step) {
        at = at % PROBE_NODES ? at % PROBE_NODES : 1;
        if (is_spare && !has_node_page(thread, at))
            return 0;
        if (nodes[at].key == key)
            return at;
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&nodes[at].key, &free, key, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return at;
        if (free == key) /* made by a signal handler meanwhile */
            return at;
    }
    return 0;
}

/* A path of two: the calling function, if any, and the function. */
static inline uint32_t pair_node(const struct thread *thread, const struct record *caller,
                                 uint32_t function, bool is_spare)
{
    while (caller != &thread->root &&
           (is_outside(thread, caller) ||
            (caller->slot & POINT &&
             (uint32_t)(stat_of(caller) - thread->stats) >= probe_inside.shared->first_open_point)))
        caller = caller->parent ? caller->parent : &thread->root;
    const uint32_t from =
        caller == &thread->root ? UINT32_MAX : (uint32_t)(stat_of(caller) - thread->stats);
    const uint32_t parent =
        from == UINT32_MAX ? 0 : node_below(thread, 0, from, OF_PATHS, is_spare);
    return from != UINT32_MAX && !parent ? 0
                                         : node_below(thread, parent, function, OF_PATHS, is_spare);
}

#endif
