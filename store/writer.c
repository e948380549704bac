#include "store/writer.h"

#include "store/statement.h"

/* The vectors of a batch and of what is derived, as (pointer, count), so that one loop writes all.
 */
struct part {
    enum store_table_id table;
    const void *rows;
    size_t count;
};
#define PART(table, vec)                                                                           \
    {                                                                                              \
        table, (vec).items, (vec).count                                                            \
    }

static int put_parts(struct store *store, const struct part *parts, size_t count,
                     struct sprof_error *error)
{
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = store_put(store, parts[i].table, parts[i].rows, parts[i].count, error);
    return status;
}

int store_write(struct store *store, const struct store_batch *batch, struct sprof_error *error)
{
    const struct part parts[] = {
        {STORE_RUN, batch->run, batch->run != NULL},
        {STORE_EVENT, batch->event, batch->event != NULL},
        PART(STORE_PROCESS, batch->processes),
        PART(STORE_THREAD, batch->threads),
        PART(STORE_MODULE, batch->modules),
        PART(STORE_MAPPING, batch->mappings),
        PART(STORE_FRAME, batch->frames),
        PART(STORE_NODE, batch->nodes),
        PART(STORE_SAMPLE, batch->samples),
        PART(STORE_LEDGER, batch->ledger),
        PART(STORE_COUNTER, batch->counters),
        PART(STORE_FAILED, batch->failed),
    };
    int status = store_begin(store, error);
    if (!status)
        status = put_parts(store, parts, sizeof parts / sizeof *parts, error);
    return store_end(store, status, error);
}

void store_batch_clear(struct store_batch *batch)
{
    batch->run = NULL;
    batch->event = NULL;
    batch->processes.count = batch->threads.count = batch->modules.count = 0;
    batch->mappings.count = batch->frames.count = batch->nodes.count = 0;
    batch->samples.count = batch->ledger.count = batch->counters.count = 0;
    batch->failed.count = 0;
}

void store_batch_release(struct store_batch *batch)
{
    sprof_vec_release(&batch->processes);
    sprof_vec_release(&batch->threads);
    sprof_vec_release(&batch->modules);
    sprof_vec_release(&batch->mappings);
    sprof_vec_release(&batch->frames);
    sprof_vec_release(&batch->nodes);
    sprof_vec_release(&batch->samples);
    sprof_vec_release(&batch->ledger);
    sprof_vec_release(&batch->counters);
    sprof_vec_release(&batch->failed);
    store_batch_clear(batch);
}

/* == What is derived == */

/* Runs a statement once for each id, as its ?1. */
static int exec_for_each(struct store *store, const char *sql, const uint32_t *ids, size_t count,
                         struct sprof_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = count ? store_prepare(store, sql, &statement, error) : 0;
    for (size_t i = 0; i < count && !status; i++) {
        sqlite3_reset(statement);
        if (sqlite3_bind_int64(statement, 1, ids[i]) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_DONE)
            status = store_fail(store, error);
    }
    sqlite3_finalize(statement);
    return status;
}

static int forget(struct store *store, const struct store_derived *derived,
                  struct sprof_error *error)
{
    static const char *const costs[] = {
        "DELETE FROM path_cost WHERE run_id = ?1", "DELETE FROM function_cost WHERE run_id = ?1",
        "DELETE FROM module_cost WHERE run_id = ?1", "DELETE FROM edge_cost WHERE run_id = ?1"};
    int status = 0;
    for (size_t i = 0; i < sizeof costs / sizeof *costs && !status; i++)
        status = exec_for_each(store, costs[i], derived->runs.items, derived->runs.count, error);
    if (!status)
        status =
            exec_for_each(store, "DELETE FROM frame WHERE id = ?1 AND inline_depth > 0",
                          derived->forgotten_frames.items, derived->forgotten_frames.count, error);
    if (!status && derived->replaces_paths)
        status = store_exec(store, "DELETE FROM call_path", error);
    return status;
}

static int complete(struct store *store, const struct store_derived *derived,
                    struct sprof_error *error)
{
    int status = 0;
    if (derived->replaces_paths)
        status =
            store_exec(store,
                       "DELETE FROM function WHERE id NOT IN (SELECT function_id FROM frame"
                       " WHERE function_id IS NOT NULL UNION SELECT function_id FROM call_path)",
                       error);
    for (size_t i = 0; i < derived->runs.count && !status; i++)
        status = store_set_state(store, derived->runs.items[i], STORE_COMPLETE, error);
    return status;
}

int store_write_derived(struct store *store, const struct store_derived *derived,
                        struct sprof_error *error)
{
    const struct part parts[] = {
        PART(STORE_MODULE, derived->modules),
        PART(STORE_FUNCTION, derived->functions),
        PART(STORE_FRAME, derived->frames),
        PART(STORE_PATH, derived->paths),
        PART(STORE_NODE_FINISH, derived->nodes),
        PART(STORE_PATH_COST, derived->path_costs),
        PART(STORE_FUNCTION_COST, derived->function_costs),
        PART(STORE_MODULE_COST, derived->module_costs),
        PART(STORE_EDGE_COST, derived->edge_costs),
    };
    /* Everything is touched at once: the usual 2 MiB of pages would be read again and again. */
    int status = store_exec(store, "PRAGMA cache_size = -65536", error);
    if (!status)
        status = store_begin(store, error);
    if (!status)
        status = forget(store, derived, error);
    if (!status)
        status = put_parts(store, parts, sizeof parts / sizeof *parts, error);
    if (!status)
        status = complete(store, derived, error);
    return store_end(store, status, error);
}

void store_derived_release(struct store_derived *derived)
{
    sprof_vec_release(&derived->runs);
    sprof_vec_release(&derived->forgotten_frames);
    sprof_vec_release(&derived->functions);
    sprof_vec_release(&derived->frames);
    sprof_vec_release(&derived->modules);
    sprof_vec_release(&derived->nodes);
    sprof_vec_release(&derived->paths);
    sprof_vec_release(&derived->path_costs);
    sprof_vec_release(&derived->function_costs);
    sprof_vec_release(&derived->module_costs);
    sprof_vec_release(&derived->edge_costs);
}

/* == Small things == */

int store_set_state(struct store *store, uint32_t run_id, enum store_state state,
                    struct sprof_error *error)
{
    const struct store_run run = {.id = run_id, .state = state};
    return store_put(store, STORE_RUN_STATE, &run, 1, error);
}

int store_last_ids(struct store *store, struct store_ids *ids, struct sprof_error *error)
{
    struct store_cursor cursor;
    int status = store_cursor_open(&cursor, store, STORE_LAST_IDS, 0, error);
    if (!status)
        status = store_cursor_next(&cursor, ids);
    store_cursor_close(&cursor);
    return status;
}
