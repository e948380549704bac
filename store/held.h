/* store, inside: rows in memory that are read as if they were in the database. */
#ifndef SPROF_STORE_HELD_H
#define SPROF_STORE_HELD_H

#include "store/database.h"
#include "store/reader.h"

/* Those of one table. `first`: the id from which on rows of the database are not valid any more, in
 * tables that belong to all runs; 0: all of them are. */
struct store_held_rows {
    const void *items;
    size_t count;
    uint32_t first;
};

/* run_id as in store_each_NAME. */
struct store_held_rows store_held_rows(const struct store *store, enum store_table_id table,
                                       uint32_t run_id);

/* Whether a row of the database, whose id is its first field, is replaced by held ones. */
static inline bool store_is_held(const struct store_held_rows *held, const void *row)
{
    return held->first && *(const uint32_t *)row >= held->first;
}

/* store_each_node_cost for the run whose rows are held. */
int store_each_held_node_cost(struct store *store,
                              int (*row)(void *, const struct store_node_cost *), void *context);

#endif
