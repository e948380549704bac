/* Brings the copy of a recording that goes on up to date. */
#include "store/header.h"
#include "store/held.h"
#include "store/live.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/statement.h"
#include "store/store.h"

#include <assert.h>
#include <stdalign.h>
#include <stdio.h>

/* Copies the rows of a table: of a run (0: of all), or those from an id on where it is read as a
 * range, which any run_id but 0 means. */
static int copy_rows(struct store *copy, struct store *source, enum store_table_id from,
                     enum store_table_id to, uint32_t run_id, int64_t first,
                     struct sprof_error *error)
{
    alignas(max_align_t) char row[sizeof(struct store_run)];
    struct store_cursor cursor;
    int status = store_cursor_open(&cursor, source, from, run_id, error);
    assert(store_table(from)->row_size <= sizeof row);
    if (!status && from != to &&
        (sqlite3_bind_int64(cursor.statement, 1, first) != SQLITE_OK ||
         sqlite3_bind_int64(cursor.statement, 2, INT64_MAX) != SQLITE_OK))
        status = store_fail(source, error);
    int put = 0;
    while (!status && !put && !(status = store_cursor_next(&cursor, row)))
        put = store_put(copy, to, row, 1, error);
    store_cursor_close(&cursor);
    return status < 0 ? status : put;
}

/* Of a table whose first column is its id: the rows that have changed since they were copied. To
 * read a row costs a fifth of what it costs to write it. */
static int copy_changed(struct store *copy, struct store *source, enum store_table_id table,
                        uint32_t run_id, struct sprof_error *error)
{
    alignas(max_align_t) char row[sizeof(struct store_run)];
    struct store_cursor cursor;
    int status = store_cursor_open(&cursor, source, table, run_id, error);
    int put = 0;
    assert(store_table(table)->row_size <= sizeof row);
    while (!status && !put && !(status = store_cursor_next(&cursor, row))) {
        const uint32_t id = *(const uint32_t *)(const void *)row;
        const uint64_t content = store_cursor_content(&cursor);
        uint64_t *copied = sprof_map_at(&copy->copied, (uint64_t)table << 32 | id);
        if (!copied)
            put = sprof_error_memory(error);
        else if (*copied != content)
            put = store_put(copy, table, row, 1, error);
        if (copied)
            *copied = content;
    }
    store_cursor_close(&cursor);
    return status < 0 ? status : put;
}

/* Rows that never change: only new ones. Mappings change once, as the recording ends: their last
 * batch has them all with their ends. */
static int copy_new(struct store *copy, struct store *source, struct sprof_error *error)
{
    static const struct {
        enum store_table_id range, table;
    } growing[] = {{STORE_FRAME_RANGE, STORE_FRAME},
                   {STORE_NODE_RANGE, STORE_NODE},
                   {STORE_SAMPLE_RANGE, STORE_SAMPLE},
                   {STORE_MAPPING_RANGE, STORE_MAPPING}};
    int64_t state = 0;
    char of_run[64];
    snprintf(of_run, sizeof of_run, "SELECT state FROM run WHERE id = %u", copy->running);
    int status = store_scalar(source, of_run, &state, error);
    for (size_t i = 0; i < sizeof growing / sizeof *growing && !status; i++) {
        char sql[64];
        int64_t last = 0;
        snprintf(sql, sizeof sql, "SELECT max(id) FROM %s", store_table(growing[i].table)->name);
        if (growing[i].table != STORE_MAPPING || !state)
            status = store_scalar(copy, sql, &last, error);
        if (!status)
            status =
                copy_rows(copy, source, growing[i].range, growing[i].table, 1, last + 1, error);
    }
    return status;
}

static int copy_changing(struct store *copy, struct store *source, struct sprof_error *error)
{
    static const enum store_table_id of_run[] = {STORE_EVENT, STORE_PHASE, STORE_LEDGER,
                                                 STORE_COUNTER};
    static const enum store_table_id by_id[] = {STORE_PROCESS, STORE_THREAD, STORE_PROCESS_ORIGIN};
    char sql[64];
    snprintf(sql, sizeof sql, "DELETE FROM phase WHERE run_id = %u", copy->running);
    int status = store_exec(copy, sql, error); /* some may be gone */
    if (!status)
        status = copy_rows(copy, source, STORE_RUN, STORE_RUN, 0, 0, error);
    if (!status)
        status = copy_changed(copy, source, STORE_MODULE, 0, error);
    for (size_t i = 0; i < sizeof by_id / sizeof *by_id && !status; i++)
        status = copy_changed(copy, source, by_id[i], copy->running, error);
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run && !status; i++)
        status = copy_rows(copy, source, of_run[i], of_run[i], copy->running, 0, error);
    return status;
}

/* The first sample of the run, by which samples that were taken away are noticed. */
struct first_sample {
    int64_t id, time_ns;
};

static int find_first(struct store *store, uint32_t run_id, struct first_sample *first,
                      struct sprof_error *error)
{
    const struct {
        const char *column;
        int64_t *value;
    } parts[] = {{"id", &first->id}, {"time_ns", &first->time_ns}};
    int status = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "SELECT %s FROM sample WHERE run_id = %u AND id > (SELECT"
                 " coalesce(max(last_sample), 0) FROM sample_summary WHERE run_id < %u)"
                 " ORDER BY id LIMIT 1",
                 parts[i].column, run_id, run_id);
        status = store_scalar(store, sql, parts[i].value, error);
    }
    return status;
}

static int forget_cleared(struct store *copy, struct store *source, bool *cleared,
                          struct sprof_error *error)
{
    struct first_sample before = {0}, now = {0};
    int status = find_first(copy, copy->running, &before, error);
    if (!status)
        status = find_first(source, copy->running, &now, error);
    *cleared = !status && before.id && (before.id != now.id || before.time_ns != now.time_ns);
    if (status || !*cleared)
        return status;
    char sql[96];
    snprintf(sql, sizeof sql, "DELETE FROM sample WHERE run_id = %u", copy->running);
    return store_exec(copy, sql, error);
}

static int run_key(struct store *store, uint32_t run_id, int64_t *key, struct sprof_error *error)
{
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT key FROM run WHERE id = %u", run_id);
    return store_scalar(store, sql, key, error);
}

/* 1: it is another one. */
static int is_other(struct store *copy, struct store *source, struct sprof_error *error)
{
    int64_t version = 0, key = 0, known = 0;
    if (store_check_version(source, &version, error) || version != STORE_SCHEMA_VERSION ||
        run_key(source, copy->running, &key, error) || run_key(copy, copy->running, &known, error))
        return 1;
    return key != known;
}

/* One transaction in each of them. */
static int update(struct store *copy, struct store *source, bool *cleared,
                  struct sprof_error *error)
{
    int status = store_exec(source, "BEGIN", error);
    if (!status)
        status = is_other(copy, source, error);
    if (status)
        return status;
    status = store_begin(copy, error);
    if (!status)
        status = forget_cleared(copy, source, cleared, error);
    if (!status)
        status = copy_changing(copy, source, error);
    if (!status)
        status = copy_new(copy, source, error);
    return store_end(copy, status, error);
}

int store_update_copy(struct store *copy, bool *cleared, struct sprof_error *error)
{
    const uint32_t running = copy->running;
    struct store *source = NULL;
    copy->held = NULL;
    if (!running || store_open_file(&source, copy->path, false, NULL, NULL))
        return 1; /* what is wrong is said when it is copied anew */
    int status = update(copy, source, cleared, error);
    store_close(source, NULL);
    if (!status)
        status = store_find_running(copy, error);
    return !status && copy->running != running ? 1 : status;
}
