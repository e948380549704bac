/* Reads the rows of a recording. */
#include "store/store.h"

#include "store/held.h"
#include "store/samples.h"
#include "store/statement.h"

#include <stdio.h>

int store_begin_reading(struct store *store, struct sprof_error *error)
{
    return store_exec(store, "BEGIN", error);
}

void store_end_reading(struct store *store)
{
    if (!sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "COMMIT", NULL, NULL, NULL);
}

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
    const uint64_t to_ns = filter->to_ns && filter->to_ns < INT64_MAX ? filter->to_ns : INT64_MAX;
    const uint64_t from_ns = filter->from_ns < to_ns ? filter->from_ns : to_ns;
    if (sqlite3_bind_parameter_count(cursor->statement) > 3 &&
        (sqlite3_bind_int64(cursor->statement, 4, (sqlite3_int64)from_ns) != SQLITE_OK ||
         sqlite3_bind_int64(cursor->statement, 5, (sqlite3_int64)to_ns) != SQLITE_OK))
        return store_fail(store, error);
    return 0;
}

static int open_range(struct store_cursor *cursor, struct store *store, enum store_table_id table,
                      uint32_t first, uint32_t last, struct sprof_error *error)
{
    const int status = store_cursor_open(cursor, store, table, first ? first : 1, error);
    return !status && sqlite3_bind_int64(cursor->statement, 2, last) != SQLITE_OK
               ? store_fail(store, error)
               : status;
}

static int open_samples(struct store_cursor *cursor, struct store *store, uint64_t first,
                        struct sprof_error *error)
{
    const int status = store_cursor_open(cursor, store, STORE_SAMPLE_RANGE, 0, error);
    return !status &&
                   (sqlite3_bind_int64(cursor->statement, 1, (sqlite3_int64)first) != SQLITE_OK ||
                    sqlite3_bind_int64(cursor->statement, 2, INT64_MAX) != SQLITE_OK)
               ? store_fail(store, error)
               : status;
}

/* Rows with one of some numbers in a column. */
static int open_among(struct store_cursor *cursor, struct store *store, enum store_table_id table,
                      const char *column, const uint32_t *numbers, size_t count,
                      struct sprof_error *error)
{
    struct sprof_str condition = {0};
    *cursor = (struct store_cursor){0};
    sprof_str_appendf(&condition, "%s IN (", column);
    for (size_t i = 0; i < count; i++)
        sprof_str_appendf(&condition, "%s%u", i ? ", " : "", numbers[i]);
    sprof_str_append(&condition, ")");
    const int status = condition.failed
                           ? sprof_error_memory(error)
                           : store_cursor_open_where(cursor, store, table, condition.text, error);
    sprof_str_release(&condition);
    return status;
}

/* int store_each_NAME(store[, which], row, context, error). The body is the same for all; a macro
 * keeps the type of the row. `open` opens the cursor; `held_rows` come after those it reads. */
#define EACH(name, row_type, open, held_rows, ...)                                                 \
    int store_each_##name(struct store *store,                                                     \
                          __VA_ARGS__ int (*row)(void *, const struct row_type *), void *context,  \
                          struct sprof_error *error)                                               \
    {                                                                                              \
        struct store_cursor cursor;                                                                \
        struct row_type item;                                                                      \
        const struct store_held_rows held = held_rows;                                             \
        const struct row_type *const items = held.items;                                           \
        int stopped = 0, status = open;                                                            \
        while (!status && !stopped && !(status = store_cursor_next(&cursor, &item)) &&             \
               !store_is_held(&held, &item))                                                       \
            stopped = row(context, &item);                                                         \
        store_cursor_close(&cursor);                                                               \
        for (size_t i = 0; i < held.count && status >= 0 && !stopped; i++)                         \
            stopped = row(context, &items[i]);                                                     \
        return status < 0 ? status : stopped;                                                      \
    }
#define NOT_HELD ((struct store_held_rows){0})
#define EACH_AMONG(name, row_type, table, column)                                                  \
    EACH(name, row_type, open_among(&cursor, store, table, column, numbers, count, error),         \
         NOT_HELD, const uint32_t *numbers, size_t count, )
#define EACH_OF_ALL(name, row_type, table)                                                         \
    EACH(name, row_type, store_cursor_open(&cursor, store, table, 0, error),                       \
         store_held_rows(store, table, 0), )
#define EACH_OF_RUN(name, row_type, table)                                                         \
    EACH(name, row_type, store_cursor_open(&cursor, store, table, run_id, error),                  \
         store_held_rows(store, table, run_id), uint32_t run_id, )
#define EACH_IN_RANGE(name, row_type, table)                                                       \
    EACH(name, row_type, open_range(&cursor, store, table, first, last, error), NOT_HELD,          \
         uint32_t first, uint32_t last, )
#define EACH_FILTERED(name, row_type, table)                                                       \
    EACH(name, row_type, open_filtered(&cursor, store, table, filter, error), NOT_HELD,            \
         const struct store_filter *filter, )

#define STORE_X(id, name, row_type, rows) EACH_OF_RUN(name, row_type, STORE_##id)
STORE_BATCH_OF_RUN(STORE_X)
STORE_DERIVED_OF_RUN(STORE_X)
#undef STORE_X
#define STORE_X(id, name, row_type, rows) EACH_OF_ALL(name, row_type, STORE_##id)
STORE_BATCH_OF_ALL(STORE_X)
STORE_DERIVED_OF_ALL(STORE_X)
#undef STORE_X
EACH_IN_RANGE(node_from, store_node, STORE_NODE_RANGE)
EACH_IN_RANGE(frame_from, store_frame, STORE_FRAME_RANGE)
EACH_IN_RANGE(mapping_from, store_mapping, STORE_MAPPING_RANGE)
EACH_OF_ALL(run, store_run, STORE_RUN)
EACH_OF_RUN(path_of_run, model_path, STORE_PATH_OF_RUN)
EACH_OF_RUN(function_of_run, store_function, STORE_FUNCTION_OF_RUN)
EACH_AMONG(function_among, store_function, STORE_FUNCTION, "id")
EACH_AMONG(function_of_modules, store_function, STORE_FUNCTION, "module_id")
EACH_AMONG(path_of_functions, model_path, STORE_PATH, "function_id")
EACH_OF_RUN(raw_sample, store_sample, STORE_SAMPLE)
EACH(raw_sample_from, store_sample, open_samples(&cursor, store, first, error), NOT_HELD,
     uint64_t first, )
EACH_FILTERED(sorted_sample, store_sample_row, STORE_SAMPLE_ROW)
EACH_FILTERED(sampled_node_cost, store_node_cost, STORE_NODE_COST)
EACH_FILTERED(stored_node_cost, store_node_cost, STORE_NODE_COST_STORED)
EACH_FILTERED(call_total, store_call_total, STORE_CALL_TOTAL)
EACH_OF_RUN(probed_node, store_probed_node, STORE_PROBED_NODE)

/* Whether the samples of a run, or of all for 0, are added up in node_cost. */
static int has_node_costs(struct store *store, uint32_t run_id, int64_t *has,
                          struct sprof_error *error)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT NOT EXISTS (SELECT 1 FROM event e LEFT JOIN event_cost c"
             " ON c.run_id = e.run_id AND c.event_id = e.id"
             " WHERE (%u = 0 OR e.run_id = %u) AND coalesce(c.has_node_costs, 0) = 0)",
             run_id, run_id);
    return store_scalar(store, sql, has, error);
}

int store_each_node_cost(struct store *store, const struct store_filter *filter,
                         int (*row)(void *, const struct store_node_cost *), void *context,
                         struct sprof_error *error)
{
    int64_t stored = 0;
    const bool in_range = filter && (filter->from_ns || filter->to_ns);
    if (store->held && filter && filter->run_id == store->held->run_id && !in_range &&
        !filter->thread && !filter->process)
        return store_each_held_node_cost(store, row, context);
    const int status =
        in_range ? 0 : has_node_costs(store, filter ? filter->run_id : 0, &stored, error);
    if (status)
        return status;
    return stored ? store_each_stored_node_cost(store, filter, row, context, error)
                  : store_each_sampled_node_cost(store, filter, row, context, error);
}

/* Rows that are held in memory are none of these. */
int store_has_places(struct store *store, uint32_t run_id, uint32_t event_id, bool *costs,
                     bool *blocks, struct sprof_error *error)
{
    char sql[256];
    int64_t found = 0;
    snprintf(sql, sizeof sql,
             "SELECT EXISTS (SELECT 1 FROM place_cost WHERE run_id = %u AND event_id = %u)"
             " + 2 * EXISTS (SELECT 1 FROM place_block WHERE run_id = %u AND event_id = %u)",
             run_id, event_id, run_id, event_id);
    const int status = store_scalar(store, sql, &found, error);
    *costs = found & 1;
    *blocks = found == 3; /* their squares are with the costs */
    return status;
}

/* == Call paths == */

int store_has_few_paths(struct store *store, uint32_t run_id, bool *few, struct sprof_error *error)
{
    char sql[192];
    int64_t found = 0;
    *few = false;
    if (store->held) /* they are not in the database */
        return 0;
    snprintf(sql, sizeof sql,
             "SELECT NOT EXISTS (SELECT 1 FROM path_cost WHERE run_id = %u"
             " LIMIT 1 OFFSET (SELECT coalesce(max(id), 0) / 4 FROM call_path))",
             run_id);
    const int status = store_scalar(store, sql, &found, error);
    *few = found;
    return status;
}

static int find_path(struct store *store, sqlite3_stmt *statement, uint32_t parent_id,
                     uint32_t function_id, uint32_t *id, struct sprof_error *error)
{
    sqlite3_reset(statement);
    const int bound =
        parent_id ? sqlite3_bind_int64(statement, 1, parent_id) : sqlite3_bind_null(statement, 1);
    if (bound != SQLITE_OK || sqlite3_bind_int64(statement, 2, function_id) != SQLITE_OK)
        return store_fail(store, error);
    const int stepped = sqlite3_step(statement);
    if (stepped != SQLITE_ROW && stepped != SQLITE_DONE)
        return store_fail(store, error);
    const int64_t found = stepped == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    if (found < 0 || found > UINT32_MAX)
        return store_fail_damaged(store, "call_path", error);
    *id = (uint32_t)found;
    return 0;
}

int store_find_paths(struct store *store, const struct model_path *paths, size_t count,
                     uint32_t *rows, struct sprof_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = store_exec(store,
                            "CREATE INDEX IF NOT EXISTS call_path_child"
                            " ON call_path (parent_id, function_id)",
                            error);
    if (!status)
        status = store_prepare(store,
                               "SELECT id FROM call_path WHERE parent_id IS ?1 AND function_id = ?2"
                               " ORDER BY id LIMIT 1",
                               &statement, error);
    for (size_t i = 0; i < count && !status; i++) {
        const uint32_t parent_id = paths[i].parent ? rows[paths[i].parent - 1] : 0;
        rows[i] = 0;
        if (parent_id || !paths[i].parent)
            status = find_path(store, statement, parent_id, paths[i].function, &rows[i], error);
    }
    sqlite3_finalize(statement);
    return status;
}

/* == Where a run begins, and its quality == */

int store_first_node(struct store *store, uint32_t run_id, uint32_t *node,
                     struct sprof_error *error)
{
    struct sprof_str sql = {0};
    int64_t found = 0;
    sprof_str_appendf(&sql,
                      "WITH of_run(id) AS (SELECT min(node_id) FROM sample WHERE %s"
                      " UNION ALL SELECT min(node_id) FROM call_cost WHERE run_id = ?1"
                      " UNION ALL SELECT min(node_id) FROM entry_coverage WHERE run_id = ?1"
                      " UNION ALL SELECT min(node_id) FROM (%s))"
                      " SELECT coalesce(min(id), 0) FROM of_run",
                      store_table(STORE_SAMPLE)->of_run, store_table(STORE_PROBED_NODE)->read);
    sqlite3_stmt *statement = NULL;
    int status =
        sql.failed ? sprof_error_memory(error) : store_prepare(store, sql.text, &statement, error);
    sprof_str_release(&sql);
    if (!status && (sqlite3_bind_int64(statement, 1, run_id) != SQLITE_OK ||
                    sqlite3_step(statement) != SQLITE_ROW))
        status = store_fail(store, error);
    if (!status)
        found = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    if (!status && (found < 0 || found > UINT32_MAX))
        return store_fail_damaged(store, "a sample refers to a stack that is missing", error);
    *node = (uint32_t)found;
    return status;
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

int store_event_quality(struct store *store, uint32_t event_id, struct store_event_quality *quality,
                        struct sprof_error *error)
{
    struct store_cursor cursor;
    int status = store_cursor_open(&cursor, store, STORE_EVENT_QUALITY, event_id, error);
    if (!status)
        status = store_cursor_next(&cursor, quality);
    store_cursor_close(&cursor);
    return status;
}
