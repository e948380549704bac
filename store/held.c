/* Rows in memory that are read as if they were in the database: what is derived of a recording that
 * goes on would be written only to be replaced a moment later. */
#include "store/held.h"

#include "store/statement.h"
#include "store/store.h"

#include <stdlib.h>

struct store_held_rows store_held_rows(const struct store *store, enum store_table_id table,
                                       uint32_t run_id)
{
    struct store_held_rows rows = {0};
    const struct store_held *held = store->held;
    if (!held || (run_id && run_id != held->run_id))
        return rows;
    const struct store_derived *derived = held->derived;
    const struct {
        enum store_table_id table;
        struct store_held_rows rows;
        bool of_all;
    } tables[] = {
        {STORE_MODULE, {derived->modules.items, derived->modules.count, 0}, true},
        {STORE_FUNCTION, {derived->functions.items, derived->functions.count, 0}, true},
        {STORE_FRAME, {derived->frames.items, derived->frames.count, 0}, true},
        {STORE_NODE, {held->nodes, held->node_count, 0}, true},
        {STORE_PATH, {derived->paths.items, derived->paths.count, 0}, true},
        {STORE_NODE_PATH, {derived->node_paths.items, derived->node_paths.count, 0}, true},
        {STORE_PATH_COST, {derived->path_costs.items, derived->path_costs.count, 0}, false},
        {STORE_LINE_COST, {derived->line_costs.items, derived->line_costs.count, 0}, false},
        {STORE_THREAD_COST, {derived->thread_costs.items, derived->thread_costs.count, 0}, false},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i].table == table) {
            rows = tables[i].rows;
            if (tables[i].of_all && rows.count) /* the id is the first field of all of them */
                rows.first = *(const uint32_t *)rows.items;
        }
    return rows;
}

static int compare_node_paths(const void *key, const void *row)
{
    const uint32_t node = *(const uint32_t *)key,
                   other = ((const struct store_node_path *)row)->node_id;
    return (node > other) - (node < other);
}

int store_each_held_node_cost(struct store *store,
                              int (*row)(void *, const struct store_node_cost *), void *context)
{
    const struct store_derived *derived = store->held->derived;
    int stopped = 0;
    for (size_t i = 0; i < derived->thread_node_costs.count && !stopped; i++) {
        const struct store_thread_node_cost *held = &derived->thread_node_costs.items[i];
        const struct store_node_path *path =
            bsearch(&held->node_id, derived->node_paths.items, derived->node_paths.count,
                    sizeof *derived->node_paths.items, compare_node_paths);
        const double weight = (double)held->cost.weight;
        const double samples = (double)(held->cost.samples ? held->cost.samples : 1);
        const struct store_node_cost cost = {
            .node_id = held->node_id,
            .path_id = path ? path->path_id : 0,
            .event_id = held->event_id,
            .thread_id = held->thread_id,
            .cost = held->cost,
            .sum_squares = held->squares > 0 ? held->squares : weight * weight / samples,
        };
        stopped = row(context, &cost);
    }
    return stopped;
}
