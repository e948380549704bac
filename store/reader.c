#include "store/store.h"

#include "store/statement.h"

static int open_filtered(struct store_cursor *cursor, struct store *store,
                         enum store_table_id table, const struct store_filter *filter,
                         struct sprof_error *error)
{
    const struct store_filter all = {0};
    filter = filter ? filter : &all;
    const int status = store_cursor_open(cursor, store, table, filter->run_id, error);
    if (status)
        return status;
    if (sqlite3_bind_text(cursor->statement, 2, filter->thread, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(cursor->statement, 3, filter->process, -1, SQLITE_STATIC) != SQLITE_OK)
        return store_fail(store, error);
    return 0;
}

/* int store_each_NAME(store[, which], row, context, error). The body is the same for all; a macro
 * keeps the type of the row. `open` opens the cursor. */
#define EACH(name, row_type, open, ...)                                                            \
    int store_each_##name(struct store *store,                                                     \
                          __VA_ARGS__ int (*row)(void *, const struct row_type *), void *context,  \
                          struct sprof_error *error)                                               \
    {                                                                                              \
        struct store_cursor cursor;                                                                \
        struct row_type item;                                                                      \
        int stopped = 0, status = open;                                                            \
        while (!status && !stopped && !(status = store_cursor_next(&cursor, &item)))               \
            stopped = row(context, &item);                                                         \
        store_cursor_close(&cursor);                                                               \
        return status < 0 ? status : stopped;                                                      \
    }
#define EACH_OF_ALL(name, row_type, table)                                                         \
    EACH(name, row_type, store_cursor_open(&cursor, store, table, 0, error), )
#define EACH_OF_RUN(name, row_type, table)                                                         \
    EACH(name, row_type, store_cursor_open(&cursor, store, table, run_id, error), uint32_t run_id, )
#define EACH_FILTERED(name, row_type, table)                                                       \
    EACH(name, row_type, open_filtered(&cursor, store, table, filter, error),                      \
         const struct store_filter *filter, )

EACH_OF_ALL(run, store_run, STORE_RUN)
EACH_OF_RUN(event, store_event, STORE_EVENT)
EACH_OF_RUN(process, store_process, STORE_PROCESS)
EACH_OF_RUN(thread, store_thread, STORE_THREAD)
EACH_OF_ALL(module, store_module, STORE_MODULE)
EACH_OF_RUN(mapping, store_mapping, STORE_MAPPING)
EACH_OF_ALL(function, store_function, STORE_FUNCTION)
EACH_OF_ALL(frame, store_frame, STORE_FRAME)
EACH_OF_ALL(node, store_node, STORE_NODE)
EACH_OF_ALL(path, model_path, STORE_PATH)
EACH_OF_RUN(ledger, store_ledger, STORE_LEDGER)
EACH_OF_RUN(counter, store_counter, STORE_COUNTER)
EACH_OF_RUN(failed, store_failed, STORE_FAILED)
EACH_FILTERED(node_cost, store_node_cost, STORE_NODE_COST)
EACH_FILTERED(sample, store_sample_row, STORE_SAMPLE_ROW)

int store_each_path_cost(struct store *store, uint32_t run_id,
                         int (*row)(void *, uint32_t path_id, const struct model_costs *),
                         void *context, struct sprof_error *error)
{
    struct store_cursor cursor;
    struct store_path_cost cost;
    int stopped = 0, status = store_cursor_open(&cursor, store, STORE_PATH_COST, run_id, error);
    while (!status && !stopped && !(status = store_cursor_next(&cursor, &cost)))
        stopped = row(context, cost.id, &cost.costs);
    store_cursor_close(&cursor);
    return status < 0 ? status : stopped;
}

int store_quality(struct store *store, uint32_t run_id, struct store_quality *quality,
                  struct sprof_error *error)
{
    struct store_cursor cursor;
    int status = store_cursor_open(&cursor, store, STORE_QUALITY, run_id, error);
    if (!status)
        status = store_cursor_next(&cursor, quality);
    store_cursor_close(&cursor);
    if (status == 1)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "%s has no run %u", store->path, run_id);
    return status;
}
