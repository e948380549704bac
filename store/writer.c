/* Writes batches of rows and derived rows. */
#include "store/writer.h"

#include "store/moved.h"
#include "store/reader.h"
#include "store/statement.h"

#include <stdio.h>

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

#define WRITE_PART(id, name, row, rows) PART(STORE_##id, batch->rows),
#define CLEAR(id, name, row, rows) batch->rows.count = 0;
#define RELEASE(id, name, row, rows) sprof_vec_release(&batch->rows);

/* What refers to them are derived rows, which a run that is being recorded has not. */
static int clear(struct store *store, const struct store_cleared *cleared,
                 struct sprof_error *error)
{
    static const char *const deletes[] = {
        "DELETE FROM sample WHERE run_id = ?1 AND time_ns < ?2",
        "DELETE FROM failed_sample WHERE run_id = ?1 AND time_ns < ?2",
        "DELETE FROM phase WHERE run_id = ?1 AND start_ns < ?2",
        "DELETE FROM call_cost WHERE run_id = ?1 AND ?2 >= 0", /* all of it is from before */
        "DELETE FROM call_untimed WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_tail_cut WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_outside WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM outside_cost WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_stack WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_heap WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_block WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM probe_ledger WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM kept_call WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM request_part WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM call_value WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM keep_rule WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM keep_span WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM entry_coverage WHERE run_id = ?1 AND ?2 >= 0",
        "DELETE FROM phase_option WHERE run_id = ?1 AND ?2 >= 0 AND phase_id NOT IN (SELECT id FROM"
        " phase WHERE run_id = ?1)",
        "DELETE FROM warning WHERE run_id = ?1 AND time_ns < ?2",
        "DELETE FROM wake WHERE run_id = ?1 AND time_ns < ?2",
        "DELETE FROM sample_fields WHERE run_id = ?1 AND time_ns < ?2",
    };
    int status = 0;
    for (size_t i = 0; i < sizeof deletes / sizeof *deletes && !status; i++) {
        sqlite3_stmt *statement = NULL;
        status = store_prepare(store, deletes[i], &statement, error);
        if (status)
            break;
        sqlite3_bind_int64(statement, 1, cleared->run_id);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)cleared->before_ns);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = store_fail(store, error);
        sqlite3_finalize(statement);
    }
    return status;
}

int store_move_samples(struct store *store, const struct store_batch *batch,
                       const struct store_sample_node *moved, size_t count,
                       struct sprof_error *error)
{
    const struct part parts[] = {
        {STORE_RUN, batch->run, batch->run != NULL},
        STORE_BATCH_OF_RUN(WRITE_PART) STORE_BATCH_OF_ALL(WRITE_PART)
            PART(STORE_SAMPLE, batch->samples),
    };
    int status = store_begin(store, error);
    for (size_t i = 0; i < batch->cleared.count && !status; i++)
        status = clear(store, &batch->cleared.items[i], error);
    if (!status)
        status = put_parts(store, parts, sizeof parts / sizeof *parts, error);
    if (!status && count)
        status = store_put(store, STORE_SAMPLE_NODE, moved, count, error);
    return store_end(store, status, error);
}

int store_write(struct store *store, const struct store_batch *batch, struct sprof_error *error)
{
    return store_move_samples(store, batch, NULL, 0, error);
}

void store_batch_clear(struct store_batch *batch)
{
    batch->run = NULL;
    batch->samples.count = batch->cleared.count = 0;
    STORE_BATCH_OF_RUN(CLEAR)
    STORE_BATCH_OF_ALL(CLEAR)
}

void store_batch_release(struct store_batch *batch)
{
    sprof_vec_release(&batch->samples);
    sprof_vec_release(&batch->cleared);
    STORE_BATCH_OF_RUN(RELEASE)
    STORE_BATCH_OF_ALL(RELEASE)
    store_batch_clear(batch);
}

/* == What is derived == */

#define TABLE_ID(id, name, row, rows) STORE_##id,
#define DERIVED_PART(id, name, row, rows) PART(STORE_##id, derived->rows),
#define RELEASE_DERIVED(id, name, row, rows) sprof_vec_release(&derived->rows);

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

int store_remove_run(struct store *store, uint32_t run_id, struct sprof_error *error)
{
#define OF_PROCESS " WHERE process_id IN (SELECT id FROM process WHERE run_id = ?1)"
    static const char *const deletes[] = {
        "DELETE FROM thread" OF_PROCESS,        "DELETE FROM mapping" OF_PROCESS,
        "DELETE FROM module" OF_PROCESS,        "DELETE FROM process WHERE run_id = ?1",
        "DELETE FROM phase WHERE run_id = ?1",  "DELETE FROM counter WHERE run_id = ?1",
        "DELETE FROM ledger WHERE run_id = ?1", "DELETE FROM event WHERE run_id = ?1",
        "DELETE FROM run WHERE id = ?1",
    };
#undef OF_PROCESS
    int status = store_begin(store, error);
    for (size_t i = 0; i < sizeof deletes / sizeof *deletes && !status; i++)
        status = exec_for_each(store, deletes[i], &run_id, 1, error);
    return store_end(store, status, error);
}

/* `had_functions`: there are some that may be of no use any more. Whatever is derived comes with a
 * summary of its run's samples: where there is neither, there is nothing to forget. */
static int forget(struct store *store, const struct store_derived *derived, int64_t *had_functions,
                  struct sprof_error *error)
{
    static const enum store_table_id of_run[] = {STORE_DERIVED_OF_RUN(TABLE_ID)};
    int64_t was_derived = 0;
    int status =
        store_scalar(store, "SELECT EXISTS (SELECT 1 FROM function)", had_functions, error);
    if (!status)
        status = store_scalar(store, "SELECT EXISTS (SELECT 1 FROM sample_summary)", &was_derived,
                              error);
    if (status || (!was_derived && !*had_functions))
        return status;
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run && !status; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE run_id = ?1", store_table(of_run[i])->name);
        status = exec_for_each(store, sql, derived->runs.items, derived->runs.count, error);
    }
    if (!status)
        status =
            exec_for_each(store, "DELETE FROM frame WHERE id = ?1 AND inline_depth > 0",
                          derived->forgotten_frames.items, derived->forgotten_frames.count, error);
    if (!status && derived->replaces_paths)
        status = store_exec(store, "DELETE FROM node_path; DELETE FROM call_path", error);
    return status;
}

/* Ids of call paths. */
struct path_ids {
    uint32_t *items;
    size_t count, capacity;
};

static int add_path(void *paths, const struct store_cost *cost)
{
    return sprof_vec_push((struct path_ids *)paths, cost->id);
}

/* The paths that runs have before they are derived anew. */
static int note_paths(struct store *store, const struct store_derived *derived,
                      struct path_ids *paths, struct sprof_error *error)
{
    int status = 0;
    for (size_t i = 0; i < derived->runs.count && derived->leaves_paths && !status; i++)
        status = store_each_path_cost(store, derived->runs.items[i], add_path, paths, error);
    return status == SPROF_ENOMEM ? sprof_error_memory(error) : status;
}

/* Deletes those that no run has any more. */
static int forget_paths(struct store *store, const struct path_ids *paths,
                        struct sprof_error *error)
{
    return exec_for_each(store,
                         "DELETE FROM call_path WHERE id = ?1 AND NOT EXISTS"
                         " (SELECT 1 FROM event e CROSS JOIN path_cost c ON c.run_id = e.run_id"
                         "  AND c.event_id = e.id AND c.path_id = ?1)",
                         paths->items, paths->count, error);
}

/* Frames are longer with their names than without: where each replaces its own row, every page is
 * full, and is split in two that are half empty. So where all rows from some frame on are written
 * anew, in order, as those of a run that is derived for the first time, the former ones go first.
 */
static int clear_frames(struct store *store, const struct store_derived *derived,
                        struct sprof_error *error)
{
    const struct store_frame *frames = derived->frames.items;
    const size_t count = derived->frames.count;
    int64_t stored, last;
    for (size_t i = 1; i < count; i++)
        if (frames[i - 1].id >= frames[i].id)
            return 0;
    if (!count)
        return 0;
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM frame WHERE id >= %u", frames[0].id);
    int status = store_scalar(store, sql, &stored, error);
    if (!status)
        status = store_scalar(store, "SELECT coalesce(max(id), 0) FROM frame", &last, error);
    for (size_t i = 0; i < count && !status; i++)
        stored -= frames[i].id <= last;
    if (status || stored)
        return status;
    snprintf(sql, sizeof sql, "DELETE FROM frame WHERE id >= %u", frames[0].id);
    return store_exec(store, sql, error);
}

/* A run that was not ended, though its recorder is gone, is marked so for good. */
static int note_killed(struct store *store, uint32_t run_id, struct sprof_error *error)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO counter (run_id, name, value)"
             " SELECT id, '" STORE_RECORDER_KILLED "', 1 FROM run WHERE id = %u AND state = %d",
             run_id, STORE_RECORDING);
    return run_id == store->running ? 0 : store_exec(store, sql, error);
}

static int complete(struct store *store, const struct store_derived *derived, bool had_functions,
                    struct sprof_error *error)
{
    int status = 0;
    if ((derived->replaces_paths || derived->leaves_paths) && had_functions)
        status =
            store_exec(store,
                       "DELETE FROM function WHERE id NOT IN (SELECT function_id FROM frame"
                       " WHERE function_id IS NOT NULL UNION SELECT function_id FROM call_path)",
                       error);
    for (size_t i = 0; i < derived->runs.count && !status; i++) {
        status = note_killed(store, derived->runs.items[i], error);
        if (!status)
            status = store_set_state(store, derived->runs.items[i], STORE_COMPLETE, error);
    }
    return status;
}

int store_write_derived(struct store *store, const struct store_derived *derived,
                        struct sprof_error *error)
{
    const struct part parts[] = {
        PART(STORE_MODULE, derived->modules), PART(STORE_FRAME, derived->frames),
        STORE_DERIVED_OF_ALL(DERIVED_PART) STORE_DERIVED_OF_RUN(DERIVED_PART)};
    int64_t had_functions = 0;
    struct path_ids former = {0};
    /* Everything is touched at once: the usual 2 MiB of pages would be read again and again. */
    int status = store_exec(store, "PRAGMA cache_size = -65536", error);
    if (!status)
        status = store_begin(store, error);
    if (!status)
        status = note_paths(store, derived, &former, error);
    if (!status)
        status = forget(store, derived, &had_functions, error);
    if (!status)
        status = clear_frames(store, derived, error);
    if (!status)
        status = put_parts(store, parts, sizeof parts / sizeof *parts, error);
    if (!status)
        status = forget_paths(store, &former, error);
    if (!status)
        status = complete(store, derived, had_functions, error);
    sprof_vec_release(&former);
    store->rewritten = true;
    return store_end(store, status, error);
}

void store_derived_release(struct store_derived *derived)
{
    sprof_vec_release(&derived->runs);
    sprof_vec_release(&derived->forgotten_frames);
    sprof_vec_release(&derived->modules);
    sprof_vec_release(&derived->frames);
    STORE_DERIVED_OF_ALL(RELEASE_DERIVED)
    STORE_DERIVED_OF_RUN(RELEASE_DERIVED)
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

/* Writes only the rows that views need, too: all would be too many. */
int store_hold(struct store *copy, const struct store_held *held, struct sprof_error *error)
{
    copy->held = NULL;
    if (!held)
        return 0;
    const struct store_derived *derived = held->derived;
    int status = store_put(copy, STORE_SAMPLE_SUMMARY, derived->sample_summaries.items,
                           derived->sample_summaries.count, error);
    if (!status)
        status = store_put(copy, STORE_EVENT_COST, derived->event_costs.items,
                           derived->event_costs.count, error);
    if (!status)
        status = store_set_state(copy, held->run_id, STORE_COMPLETE, error);
    if (!status)
        copy->held = held;
    return status;
}
