/* Makes the tables and views of a recording, and brings recordings of older versions to them: all
 * in one transaction, so that a file is of one version or the other. */
#include "store/schema.h"

#include "store/statement.h"

#include <stdio.h>
#include <string.h>

/* == Today's tables == */

static const char *type_of(const struct store_column *column)
{
    switch ((enum store_column_type)column->type) {
    case STORE_REAL: return "REAL";
    case STORE_TEXT:
    case STORE_HEX: return "TEXT";
    case STORE_BLOB: return "BLOB";
    case STORE_NUMBER:
    case STORE_SIGNED:
    case STORE_BITS:
    case STORE_BOOL:
    case STORE_WORD:
    case STORE_NAME:
    case STORE_PACKED: break;
    }
    return "INTEGER";
}

static void append_column(struct sprof_str *sql, const struct store_table *table,
                          const struct store_column *column)
{
    const bool is_id = strcmp(column->name, table->key) == 0;
    sprof_str_appendf(sql, "    \"%s\" %s%s", column->name, type_of(column),
                      is_id             ? " PRIMARY KEY"
                      : column->or_null ? ""
                                        : " NOT NULL");
    if (column->refers_to)
        sprof_str_appendf(sql, " REFERENCES %s DEFERRABLE INITIALLY DEFERRED", column->refers_to);
    if (column->type == STORE_BOOL)
        sprof_str_appendf(sql, " CHECK (%s IN (0, 1))", column->name);
}

/* Foreign keys are declared for readers and for PRAGMA foreign_key_check; they are not checked at
 * each insert, which would cost four look-ups a sample. */
static int create_table(struct store *store, const struct store_table *table,
                        struct sprof_error *error)
{
    struct sprof_str sql = {0};
    const bool by_rowid = !strchr(table->key, ',') && table->columns[0].type == STORE_NUMBER;
    sprof_str_appendf(&sql, "CREATE TABLE \"%s\" (\n", table->name);
    for (size_t i = 0; i < table->count; i++) {
        sprof_str_append(&sql, i ? ",\n" : "");
        append_column(&sql, table, &table->columns[i]);
    }
    if (table->computed)
        sprof_str_appendf(&sql, ",\n    %s", table->computed);
    if (!by_rowid)
        sprof_str_appendf(&sql, ",\n    PRIMARY KEY (%s)", table->key);
    if (table->unique)
        sprof_str_appendf(&sql, ",\n    UNIQUE (%s)", table->unique);
    if (table->check)
        sprof_str_appendf(&sql, ",\n    CHECK (%s)", table->check);
    sprof_str_appendf(&sql, "\n) STRICT%s;\n", by_rowid ? "" : ", WITHOUT ROWID");
    for (size_t i = 0; i < sizeof table->indexes / sizeof *table->indexes; i++)
        if (table->indexes[i])
            sprof_str_appendf(&sql, "CREATE INDEX %s;\n", table->indexes[i]);
    const int status = sql.failed ? sprof_error_memory(error) : store_exec(store, sql.text, error);
    sprof_str_release(&sql);
    return status;
}

struct words {
    struct store *store;
    struct sprof_error *error;
};

static int put_word(void *context, const struct store_word *row)
{
    const struct words *words = context;
    return store_put(words->store, STORE_WORD_LIST, row, 1, words->error);
}

static int create_all(struct store *store, struct sprof_error *error)
{
    struct words words = {store, error};
    int status = store_exec(store, "PRAGMA application_id = 0x73707266", error);
    for (int id = 0; id < STORE_TABLES && !status; id++)
        if (store_table((enum store_table_id)id)->key)
            status = create_table(store, store_table((enum store_table_id)id), error);
    if (!status)
        status = store_each_word(put_word, &words);
    if (!status)
        status = store_exec(store, store_views_sql, error);
    return status;
}

/* == Older versions == */

/* Content keys as this version makes them, for migrations: key_text(text), key_hex(build id) and
 * key_pair(outer, inner); NULL of NULL. */
static void key_text(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *text = (const char *)sqlite3_value_text(values[0]);
    if (text)
        sqlite3_result_int64(context, (sqlite3_int64)sprof_hash_text(text));
}

static void key_hex(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    const char *text = (const char *)sqlite3_value_text(values[0]);
    uint8_t bytes[64];
    size_t size = 0;
    unsigned byte;
    for (; text && size < sizeof bytes && sscanf(text + 2 * size, "%2x", &byte) == 1; size++)
        bytes[size] = (uint8_t)byte;
    if (size)
        sqlite3_result_int64(context, (sqlite3_int64)sprof_hash_bytes(bytes, size));
}

static void key_pair(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_type(values[0]) != SQLITE_NULL &&
        sqlite3_value_type(values[1]) != SQLITE_NULL)
        sqlite3_result_int64(
            context, (sqlite3_int64)sprof_hash_pair((uint64_t)sqlite3_value_int64(values[0]),
                                                    (uint64_t)sqlite3_value_int64(values[1])));
}

static int offer_keys(struct store *store, bool offered, struct sprof_error *error)
{
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {{"key_text", 1, key_text}, {"key_hex", 1, key_hex}, {"key_pair", 2, key_pair}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sqlite3_create_function(store->database, functions[i].name, functions[i].arguments,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                    offered ? functions[i].function : NULL, NULL,
                                    NULL) != SQLITE_OK)
            return store_fail(store, error);
    return 0;
}

/* The statements that clear the way for today's tables: views and indexes go, tables are renamed.
 */
#define OBSTACLES                                                                                  \
    "SELECT format(CASE type WHEN 'view' THEN 'DROP VIEW \"%w\"' WHEN 'index' THEN"                \
    " 'DROP INDEX \"%w\"' ELSE 'ALTER TABLE \"%w\" RENAME TO \"v1_%w\"' END, name, name)"          \
    " FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"                             \
    " ORDER BY type = 'table', type = 'index'"

static int run_made(struct store *store, const char *query, struct sprof_error *error)
{
    sqlite3_stmt *statement = NULL;
    struct sprof_str made = {0};
    int stepped = SQLITE_DONE;
    int status = store_prepare(store, query, &statement, error);
    while (!status && (stepped = sqlite3_step(statement)) == SQLITE_ROW)
        sprof_str_appendf(&made, "%s;\n", (const char *)sqlite3_column_text(statement, 0));
    if (!status && stepped != SQLITE_DONE)
        status = store_fail(store, error);
    sqlite3_finalize(statement);
    if (!status && made.failed)
        status = sprof_error_memory(error);
    if (!status && made.text)
        status = store_exec(store, made.text, error);
    sprof_str_release(&made);
    return status;
}

static int migrate_1(struct store *store, struct sprof_error *error)
{
    int status = run_made(store, OBSTACLES, error);
    if (!status)
        status = create_all(store, error);
    if (!status)
        status = offer_keys(store, true, error);
    if (!status)
        status = store_exec(store, store_migrate_1_sql, error);
    if (!status)
        status = run_made(store,
                          "SELECT format('DROP TABLE \"%w\"', name) FROM sqlite_schema"
                          " WHERE type = 'table' AND name LIKE 'v1\\_%' ESCAPE '\\'",
                          error);
    const int withdrawn = offer_keys(store, false, error);
    return status ? status : withdrawn;
}

/* Up to version 12 a row of probe_event was a probe's tier. Its words have the same numbers. */
static int reshape_probe_events(struct store *store, struct sprof_error *error)
{
    static const char renamed[] = "ALTER TABLE probe_event RENAME TO former_probe_event";
    static const char moved[] =
        "INSERT INTO probe_event SELECT run_id, row_number() OVER (PARTITION BY run_id ORDER BY"
        " time_ns, node_id), node_id, time_ns, tier, (SELECT number FROM word WHERE list = 'cause'"
        " AND word = iif(share > 0, 'governor', 'room')), share, 0 FROM former_probe_event;"
        "DROP TABLE former_probe_event; DELETE FROM word WHERE list = 'probe_tier'";
    int64_t old = 0;
    int status = store_scalar(
        store, "SELECT count(*) FROM pragma_table_info('probe_event') WHERE name = 'tier'", &old,
        error);
    if (status || !old)
        return status;
    status = store_exec(store, renamed, error);
    if (!status)
        status = create_table(store, store_table(STORE_PROBE_EVENT), error);
    return status ? status : store_exec(store, moved, error);
}

/* Up to version 19 views made it of the other columns. The limits are those of counters_outermost.
 */
static int add_outermost(struct store *store, struct sprof_error *error)
{
    return store_exec(store,
                      "UPDATE call_cost SET outermost = nullif(max(calls - counted - in_flight -"
                      " max(recursive - max(in_flight - 1, 0), 0), 0), 0)",
                      error);
}

/* Adds columns that a table of an older version lacks: all of them may be NULL. */
static int add_columns(struct store *store, const struct store_table *table,
                       struct sprof_error *error)
{
    int status = 0;
    for (size_t i = 0; i < table->count && !status; i++) {
        const struct store_column *column = &table->columns[i];
        char query[192];
        int64_t known = 1;
        if (!column->or_null || column->refers_to)
            continue;
        snprintf(query, sizeof query,
                 "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'", table->name,
                 column->name);
        status = store_scalar(store, query, &known, error);
        snprintf(query, sizeof query, "ALTER TABLE \"%s\" ADD COLUMN \"%s\" %s", table->name,
                 column->name, type_of(column));
        if (!status && !known)
            status = store_exec(store, query, error);
    }
    return status;
}

/* From version 2 on, versions only add tables, columns, views and words. */
static int add_what_is_missing(struct store *store, struct sprof_error *error)
{
    struct words words = {store, error};
    int64_t runs;
    int status = store_scalar(store, "SELECT count(*) FROM run", &runs, error); /* is it one? */
    if (!status)
        status = run_made(store,
                          "SELECT format('DROP VIEW \"%w\"', name) FROM sqlite_schema"
                          " WHERE type = 'view'",
                          error);
    for (int id = 0; id < STORE_TABLES && !status; id++) {
        const struct store_table *table = store_table((enum store_table_id)id);
        char query[160];
        int64_t known = 0;
        if (!table->key)
            continue;
        snprintf(query, sizeof query,
                 "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '%s'",
                 table->name);
        status = store_scalar(store, query, &known, error);
        if (!status)
            status = known ? add_columns(store, table, error) : create_table(store, table, error);
    }
    if (!status)
        status = store_each_word(put_word, &words);
    if (!status)
        status = reshape_probe_events(store, error);
    if (!status)
        status = add_outermost(store, error);
    return status ? status : store_exec(store, store_views_sql, error);
}

int store_migrate(struct store *store, struct sprof_error *error)
{
    int64_t version = 0;
    int status = store_scalar(store, "PRAGMA user_version", &version, error);
    if (status || version >= STORE_SCHEMA_VERSION)
        return status;
    char set_version[64];
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
    status = store_begin(store, error);
    if (!status)
        status = version > 1 ? add_what_is_missing(store, error)
                 : version   ? migrate_1(store, error)
                             : create_all(store, error);
    if (!status)
        status = store_exec(store, set_version, error);
    return store_end(store, status, error);
}

int store_check_version(struct store *store, int64_t *version, struct sprof_error *error)
{
    const int status = store_scalar(store, "PRAGMA user_version", version, error);
    if (status)
        return status;
    if (*version > STORE_SCHEMA_VERSION)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s was written by a newer sprof: its schema is version %lld, this "
                               "sprof reads up to %d; read it with the sprof that wrote it, or a "
                               "newer one",
                               store->path, (long long)*version, STORE_SCHEMA_VERSION);
    if (*version < 1)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s holds no recording: its recorder was killed before it began; "
                               "record again",
                               store->path);
    return 0;
}
