/* Turns errors of SQLite into errors of sprof, and runs single statements. */
#include "store/database.h"

#include <errno.h>
#include <string.h>

enum { DURABLE_AFTER_NS = 1000000000 };

/* What SQLite's primary result codes mean to the person. */
static const struct cause {
    int sqlite;
    enum sprof_code code;
    const char *text;
} causes[] = {
    {SQLITE_FULL, SPROF_EFULL,
     "no space left on its device; free some space and record again, or choose another place with "
     "-o; what was written before is kept"},
    {SQLITE_NOMEM, SPROF_ENOMEM, "out of memory"},
    {SQLITE_CORRUPT, SPROF_EFORMAT,
     "the recording is damaged; copy it again from where it came, or save what is left with "
     "`sqlite3 FILE .recover`"},
    {SQLITE_NOTADB, SPROF_EFORMAT, "not a recording of sprof, or a damaged one"},
    {SQLITE_ERROR, SPROF_EFORMAT, "the recording does not have the form of its version"},
    {SQLITE_SCHEMA, SPROF_EFORMAT, "the recording does not have the form of its version"},
    {SQLITE_CONSTRAINT, SPROF_EFORMAT, "rows contradict the schema"},
    {SQLITE_MISMATCH, SPROF_EFORMAT, "rows contradict the schema"},
    {SQLITE_TOOBIG, SPROF_ELIMIT, "a text or blob is too large for the database"},
    {SQLITE_BUSY, SPROF_ESTATE, "another program is using it; close that program and try again"},
    {SQLITE_LOCKED, SPROF_ESTATE, "another program is using it; close that program and try again"},
    {SQLITE_PROTOCOL, SPROF_ESTATE,
     "another program is using it; close that program and try again"},
    {SQLITE_INTERRUPT, SPROF_ESTATE, "interrupted"},
    {SQLITE_READONLY, SPROF_EPERMISSION,
     "no permission to write; copy it, with its -wal file where there is one, to a directory of "
     "your own"},
    {SQLITE_CANTOPEN, SPROF_EPERMISSION,
     "it or the log beside it cannot be opened; copy it, with its -wal file where there is one, to "
     "a directory of your own"},
    {SQLITE_PERM, SPROF_EPERMISSION, "no permission"},
    {SQLITE_AUTH, SPROF_EPERMISSION, "not allowed"},
};

static const struct cause full = {
    SQLITE_FULL, SPROF_EFULL,
    "the file may not grow any more; raise the quota or `ulimit -f`, "
    "or choose another place with -o; what was written before is kept"};
static const struct cause other = {0, SPROF_EIO, "reading or writing failed"};

/* SQLite reports a full quota or a file size limit as an I/O error. */
static bool is_full(int sqlite, int errnum)
{
    return sqlite == SQLITE_IOERR && (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG);
}

static const struct cause *find_cause(int sqlite, int errnum)
{
    if (is_full(sqlite, errnum))
        return errnum == ENOSPC ? &causes[0] : &full;
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].sqlite == sqlite)
            return &causes[i];
    return &other;
}

int store_fail(struct store *store, struct sprof_error *error)
{
    /* SQLite does not pass on the errno of every failed write; then it is still in errno. */
    const int left = errno, passed = sqlite3_system_errno(store->database);
    const int errnum = passed ? passed : left;
    if (sqlite3_errcode(store->database) == SQLITE_INTERRUPT && store->steps_left < 0)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "%s: reading it takes far more than a recording of its size needs: "
                               "it may be hostile; have it recorded again, or read it with "
                               "`sqlite3 FILE`",
                               store->path);
    const struct cause *cause = find_cause(sqlite3_errcode(store->database) & 0xff, errnum);
    const bool has_errnum = cause == &other && errnum;
    return sprof_error_set(error, cause->code, has_errnum ? errnum : 0, "%s: %s (%s%s%s)",
                           store->path, cause->text, sqlite3_errmsg(store->database),
                           has_errnum ? ": " : "", has_errnum ? strerror(errnum) : "");
}

int store_fail_damaged(struct store *store, const char *what, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "%s: the recording is damaged: %s; copy it again from where it came, or "
                           "save what is left with `sqlite3 FILE .recover`",
                           store->path, what);
}

int store_exec(struct store *store, const char *sql, struct sprof_error *error)
{
    if (sqlite3_exec(store->database, sql, NULL, NULL, NULL) != SQLITE_OK)
        return store_fail(store, error);
    return 0;
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **statement,
                  struct sprof_error *error)
{
    if (sqlite3_prepare_v2(store->database, sql, -1, statement, NULL) != SQLITE_OK)
        return store_fail(store, error);
    return 0;
}

int store_scalar(struct store *store, const char *sql, int64_t *value, struct sprof_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = store_prepare(store, sql, &statement, error);
    if (status)
        return status;
    const int stepped = sqlite3_step(statement);
    if (stepped == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    else if (stepped != SQLITE_DONE)
        status = store_fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int store_be_durable(struct store *store, struct sprof_error *error)
{
    if (store->durable || sprof_clock_monotonic_ns() - store->opened_ns < DURABLE_AFTER_NS)
        return 0;
    store->durable = true;
    return store_exec(store, "PRAGMA synchronous = NORMAL", error);
}

void store_vacuum(struct store *store)
{
    /* SQLite attaches the new file to itself, which is forbidden otherwise. */
    sqlite3_limit(store->database, SQLITE_LIMIT_ATTACHED, 1);
    sqlite3_exec(store->database, "VACUUM", NULL, NULL, NULL);
    sqlite3_limit(store->database, SQLITE_LIMIT_ATTACHED, 0);
}

int store_begin(struct store *store, struct sprof_error *error)
{
    const int status = store_be_durable(store, error);
    return status ? status : store_exec(store, "BEGIN IMMEDIATE", error);
}

int store_end(struct store *store, int status, struct sprof_error *error)
{
    if (!status)
        status = store_exec(store, "COMMIT", error);
    /* Some errors have rolled back already. */
    if (status && !sqlite3_get_autocommit(store->database))
        sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return status;
}
