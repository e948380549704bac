/* Runs a user's statements. */
#include "store/database.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a user's statement may do with a recording: only read it. */

static const char *const harmless_pragmas[] = {
    "table_list",
    "table_info",
    "table_xinfo",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "foreign_key_check",
    "integrity_check",
    "quick_check",
    "function_list",
    "compile_options",
    NULL,
};
/* … and these to be read, not set. */
static const char *const readable_pragmas[] = {
    "user_version", "application_id", "page_count", "page_size", "encoding", NULL,
};

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcasecmp(name, *names))
            return true;
    return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    (void)context, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_among(second, (const char *const[]){"load_extension", "fts3_tokenizer", NULL})
                   ? SQLITE_DENY
                   : SQLITE_OK;
    case SQLITE_PRAGMA:
        return is_among(first, harmless_pragmas) || (!second && is_among(first, readable_pragmas))
                   ? SQLITE_OK
                   : SQLITE_DENY;
    case SQLITE_UPDATE: /* when a table-valued PRAGMA declares its columns; writes nothing */
        return strcmp(first, "sqlite_master") ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

static int refuse_writing(struct store *store, const char *why, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "recordings are only read here (%s); to change one, use `sqlite3 %s`",
                           why, store->path);
}

/* Appends tables and views with a name like the one that a message says is not there. */
static void append_near(struct store *store, const char *message, struct sprof_str *out)
{
    static const char beginning[] = "no such table: ";
    static const char sql[] = "SELECT group_concat(name, char(10)) FROM sqlite_master";
    struct sprof_suggestions near = {0};
    sqlite3_stmt *statement = NULL;
    if (strncmp(message, beginning, strlen(beginning)) != 0)
        return;
    if (!sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0)) {
        char *names = strdup((const char *)sqlite3_column_text(statement, 0)), *rest = names;
        for (const char *name; names && (name = strsep(&rest, "\n"));)
            sprof_suggest_offer(&near, message + strlen(beginning), name);
        sprof_suggest_append(out, &near);
        free(names);
    }
    sqlite3_finalize(statement);
}

/* The user's mistake in SQLite's own words, and what may have been meant. */
static int explain_mistake(struct store *store, struct sprof_error *error)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, sqlite3_errmsg(store->database));
    if (text.text) {
        char *message = strdup(text.text); /* while `text` grows */
        append_near(store, message ? message : "", &text);
        free(message);
    }
    sprof_error_set(error, SPROF_EUSAGE, 0,
                    "%s; `sprof help schema` describes the tables and views",
                    text.text ? text.text : "");
    sprof_str_release(&text);
    return SPROF_EUSAGE;
}

/* The user's mistakes get SQLite's own words, the database's troubles ours. */
static int query_failed(struct store *store, struct sprof_error *error)
{
    switch (sqlite3_errcode(store->database) & 0xff) {
    case SQLITE_AUTH:
    case SQLITE_READONLY: return refuse_writing(store, sqlite3_errmsg(store->database), error);
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_TOOBIG: return explain_mistake(store, error);
    default: return store_fail(store, error);
    }
}

/* One result: names and values of its columns, in one allocation. */
static int each_row(struct store *store, sqlite3_stmt *statement,
                    int (*row)(void *, int columns, char *const *values, char *const *names),
                    void *context, struct sprof_error *error)
{
    const int columns = sqlite3_column_count(statement);
    char **names = calloc(2 * (size_t)columns + 1, sizeof *names);
    if (!names)
        return sprof_error_memory(error);
    char **values = names + columns;
    int stepped, stopped = 0;
    for (int i = 0; i < columns; i++)
        names[i] = (char *)sqlite3_column_name(statement, i);
    while (!stopped && (stepped = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++)
            values[i] = (char *)sqlite3_column_text(statement, i);
        stopped = row(context, columns, values, names);
    }
    free(names);
    return stopped || stepped == SQLITE_DONE ? stopped : query_failed(store, error);
}

static int run_statements(struct store *store, const char *sql,
                          int (*row)(void *, int columns, char *const *values, char *const *names),
                          void *context, struct sprof_error *error)
{
    int status = 0;
    while (!status && *sql) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(store->database, sql, -1, &statement, &sql) != SQLITE_OK)
            return query_failed(store, error);
        if (statement && !sqlite3_stmt_readonly(statement))
            status = refuse_writing(store, "the statement writes", error);
        else if (statement) /* NULL: a comment, or blanks */
            status = each_row(store, statement, row, context, error);
        sqlite3_finalize(statement);
    }
    return status;
}

int store_query(struct store *store, const char *sql,
                int (*row)(void *, int columns, char *const *values, char *const *names),
                void *context, struct sprof_error *error)
{
    if (sqlite3_set_authorizer(store->database, authorize, NULL) != SQLITE_OK)
        return store_fail(store, error);
    const int status = run_statements(store, sql, row, context, error);
    sqlite3_set_authorizer(store->database, NULL, NULL);
    return status;
}

int store_quote(struct sprof_str *sql, const char *text)
{
    int status = sprof_str_append(sql, "'");
    for (; *text && !status; text++)
        status = sprof_str_append_bytes(sql, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    return status ? status : sprof_str_append(sql, "'");
}
