/* Opens databases for reading, whatever their recorder left. */
#include "store/open.h"

#include "store/calls_table.h"
#include "store/database.h"
#include "store/header.h"
#include "store/live.h"
#include "store/schema.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BUSY_TIMEOUT_MS = 3000,
    ALONE_TIMEOUT_MS = 1000, /* until no other process has a finished recording open */
};

/* The database is untrusted: its schema may run no functions with effects, its cells are
 * checked, and its statements may not open other files. Nor is a log folded back but by
 * store_close. */
static int harden(struct store *store, struct sprof_error *error)
{
    sqlite3 *database = store->database;
    sqlite3_busy_timeout(database, BUSY_TIMEOUT_MS);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    if (sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL) != SQLITE_OK ||
        sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) != SQLITE_OK ||
        sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) != SQLITE_OK ||
        sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK)
        return store_fail(store, error);
    return store_exec(store,
                      store->writable ? "PRAGMA cell_size_check = ON; PRAGMA synchronous = OFF"
                                      : "PRAGMA cell_size_check = ON; PRAGMA query_only = ON",
                      error);
}

/* To count what it allocates SQLite takes a lock twice a row that is written. */
static void configure(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    store_guard_install();
}

static int refuse_other(const struct store *store, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EPERMISSION, 0,
                           "%s, or a log beside it, is another file than it was, or one that has "
                           "other names: another user may write its directory; name a file in a "
                           "directory of your own",
                           store->path);
}

static int open_database(struct store *store, struct sprof_error *error)
{
    static pthread_once_t configured = PTHREAD_ONCE_INIT;
    struct sprof_str path = {0};
    pthread_once(&configured, configure);
    const bool is_root = !strcmp(store->guard.directory, "/");
    sprof_str_appendf(&path, "%s/%s", is_root ? "" : store->guard.directory,
                      store->guard.place.name);
    if (path.failed)
        return sprof_error_memory(error);
    const int opened =
        sqlite3_open_v2(path.text, &store->database,
                        (store->writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
                            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                        NULL);
    sprof_str_release(&path);
    if (!store->database)
        return sprof_error_memory(error);
    if (store->guard.has_refused)
        return refuse_other(store, error);
    if (opened != SQLITE_OK || store_offer_calls(store->database) != SQLITE_OK)
        return store_fail(store, error);
    return harden(store, error);
}

static void finalize_inserts(struct store *store)
{
    for (size_t i = 0; i < STORE_TABLES; i++) {
        sqlite3_finalize(store->insert[i]);
        sqlite3_finalize(store->insert_several[i]);
        store->insert[i] = store->insert_several[i] = NULL;
    }
}

static void free_store(struct store *store)
{
    finalize_inserts(store);
    sprof_map_release(&store->copied);
    sqlite3_close(store->database);
    store_guard_end(&store->guard);
    free(store->path);
    free(store);
}

int store_open_file(struct store **store, const char *path, bool writable, const struct stat *made,
                    struct sprof_error *error)
{
    struct store *opened = calloc(1, sizeof *opened);
    *store = NULL;
    if (!opened || !(opened->path = strdup(path))) {
        free(opened);
        return sprof_error_memory(error);
    }
    opened->writable = writable;
    opened->opened_ns = sprof_clock_monotonic_ns();
    int status = store_guard_begin(&opened->guard, path, writable, error);
    if (!status && made)
        opened->guard.made = *made;
    if (!status)
        status = open_database(opened, error);
    if (status)
        free_store(opened);
    else
        *store = opened;
    return status;
}

uid_t store_owner(const struct store *store)
{
    return store->guard.owner;
}

static bool begin_log(struct store *store)
{
    sqlite3_stmt *statement = NULL;
    const char *mode = NULL;
    if (sqlite3_prepare_v2(store->database, "PRAGMA journal_mode = WAL", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        mode = (const char *)sqlite3_column_text(statement, 0);
    const bool begun = mode && !strcmp(mode, "wal");
    sqlite3_finalize(statement);
    return begun;
}

void store_start_log(struct store *store)
{
    /* Where shared memory or locks do not work (NFS) SQLite stays with, or goes back to, the
     * rollback journal, which then stays beside the file as a sign that it is being written; what
     * else might be wrong shows at the next write. */
    if (!begin_log(store))
        sqlite3_exec(store->database, "PRAGMA journal_mode = PERSIST", NULL, NULL, NULL);
}

/* What a live recorder of version 1 says in its run row. */
static int check_live_of(struct store *store, int64_t version, struct sprof_error *error)
{
    return version == 1 ? store_check_live(store, "state = 'recording'", error)
                        : store_check_live(store, "state = 0", error);
}

/* As many steps as SQLite's machine may take for a reader, by the size of the file. */
enum { STEPS_BETWEEN = 100000 };
static const int64_t steps_least = INT64_C(3000000000), steps_a_byte = 5000;
/* No text or blob of a recording is longer. */
static const int longest_cell = 64 << 20;

static int count_steps(void *context)
{
    struct store *store = context;
    store->steps_left -= STEPS_BETWEEN;
    return store->steps_left < 0;
}

static void limit_reading(struct store *store)
{
    struct stat facts;
    const int64_t bytes = stat(store->path, &facts) ? 0 : facts.st_size;
    sqlite3_limit(store->database, SQLITE_LIMIT_LENGTH, longest_cell);
    store->steps_left = steps_least + steps_a_byte * bytes;
    sqlite3_progress_handler(store->database, STEPS_BETWEEN, count_steps, store);
}

/* Exchanges the database for a copy of it, which SQLite keeps in a temporary file of its own. */
static int copy_database(struct store *store, struct sprof_error *error)
{
    sqlite3 *copy = NULL;
    if (sqlite3_open_v2("", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        sqlite3_close(copy);
        return sprof_error_memory(error);
    }
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", store->database, "main");
    const int copied = backup ? sqlite3_backup_step(backup, -1) : SQLITE_NOMEM;
    sqlite3_backup_finish(backup);
    if (copied != SQLITE_DONE) {
        const int status =
            copied == SQLITE_NOMEM ? sprof_error_memory(error) : store_fail(store, error);
        sqlite3_close(copy);
        return status;
    }
    sqlite3_close(store->database);
    store->database = copy;
    store->writable = store->is_copy = true;
    const int status =
        store_offer_calls(copy) == SQLITE_OK ? harden(store, error) : store_fail(store, error);
    limit_reading(store);
    return status ? status : store_exec(store, "PRAGMA journal_mode = OFF", error);
}

/* An older version is read through a copy in today's form; the file itself stays as it is. */
static int read_copy(struct store *store, struct sprof_error *error)
{
    int status = copy_database(store, error);
    if (!status)
        status = store_migrate(store, error);
    store->writable = false;
    return status ? status : store_exec(store, "PRAGMA query_only = ON", error);
}

/* Writes what is there already: a recorder that may not write ends before its command begins. */
static int try_to_write(struct store *store, struct sprof_error *error)
{
    char same[64];
    snprintf(same, sizeof same, "PRAGMA user_version = %d", STORE_SCHEMA_VERSION);
    int status = store_exec(store, "BEGIN IMMEDIATE", error);
    if (!status)
        status = store_exec(store, same, error);
    return store_end(store, status, error);
}

static int check(struct store *store, struct sprof_error *error)
{
    int64_t version = 0;
    int status = store_check_version(store, &version, error);
    if (!status)
        status = check_live_of(store, version, error);
    if (!status && !store->writable && version < STORE_SCHEMA_VERSION)
        return read_copy(store, error);
    if (status || !store->writable)
        return status;
    status = store_migrate(store, error);
    if (!status && version < STORE_SCHEMA_VERSION) /* leave no room where the old tables were */
        store_vacuum(store);
    if (status)
        return status;
    store_start_log(store);
    return try_to_write(store, error);
}

/* The copy is of one moment: SQLite reads it in one transaction. */
static int check_and_copy(struct store *store, struct sprof_error *error)
{
    int64_t version = 0;
    int status = store_check_version(store, &version, error);
    if (!status)
        status = copy_database(store, error);
    if (!status && version < STORE_SCHEMA_VERSION)
        status = store_migrate(store, error);
    return status ? status : store_find_running(store, error);
}

/* A view or a virtual table of a table's name, or a trigger, would run statements of the file's
 * author, without any end, whenever it is read or written. */
static int check_objects(struct store *store, struct sprof_error *error)
{
    struct sprof_str sql = {0};
    int64_t wrong = 0;
    sprof_str_append(&sql, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' OR"
                           " (type = 'table' AND (rootpage = 0 OR sql LIKE 'CREATE VIRTUAL%')) OR"
                           " (type <> 'table' AND lower(name) IN ('sqlite_schema'");
    for (int id = 0; id < STORE_TABLES; id++)
        if (store_table((enum store_table_id)id)->key)
            sprof_str_appendf(&sql, ", '%s'", store_table((enum store_table_id)id)->name);
    sprof_str_append(&sql, "))");
    int status =
        sql.failed ? sprof_error_memory(error) : store_scalar(store, sql.text, &wrong, error);
    sprof_str_release(&sql);
    if (!status && wrong)
        status = sprof_error_set(error, SPROF_EFORMAT, 0,
                                 "%s holds views in the place of tables, or triggers, which no "
                                 "recording has: it may be hostile; have it recorded again",
                                 store->path);
    return status;
}

static int open_existing(struct store **store, const char *path, bool writable,
                         int (*check_it)(struct store *, struct sprof_error *),
                         struct sprof_error *error)
{
    struct store_file file;
    *store = NULL;
    int status = store_file_look(path, &file, error);
    if (status)
        return status;
    if (file.kind == STORE_FILE_ABSENT)
        return sprof_error_set(
            error, SPROF_ENOTFOUND, 0,
            "there is no recording %s; make one with `sprof record` or `sprof trace`, or name "
            "another with -i",
            path);
    if (file.kind == STORE_FILE_EMPTY)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is empty; record again", path);
    status = store_open_file(store, path, writable, NULL, error);
    if (!status && !writable)
        limit_reading(*store);
    if (!status)
        status = check_objects(*store, error);
    if (!status)
        status = check_it(*store, error);
    if (status && *store) {
        free_store(*store);
        *store = NULL;
    }
    return status;
}

int store_open_write(struct store **store, const char *path, struct sprof_error *error)
{
    return open_existing(store, path, true, check, error);
}

int store_open_read(struct store **store, const char *path, struct sprof_error *error)
{
    return open_existing(store, path, false, check, error);
}

int store_open_copy(struct store **store, const char *path, struct sprof_error *error)
{
    return open_existing(store, path, false, check_and_copy, error);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

uint32_t store_running(const struct store *store)
{
    return store->running;
}

/* Where deriving again has left pages empty, a small recording is written once more without them.
 * It goes through the log, so it happens as a whole or not. */
static void close_gaps(struct store *store)
{
    enum { MOST_PAGES = 4096, EMPTY_PART = 16 };
    int64_t pages = 0, empty = 0;
    if (store->rewritten && !store_scalar(store, "PRAGMA page_count", &pages, NULL) &&
        !store_scalar(store, "PRAGMA freelist_count", &empty, NULL) && pages <= MOST_PAGES &&
        empty * EMPTY_PART > pages)
        store_vacuum(store);
}

/* A reader of a growing recording has it open for a moment, and SQLite gives up at once. */
static int step_alone(sqlite3_stmt *statement)
{
    const struct timespec between = {.tv_nsec = 10000000};
    const uint64_t until_ns = sprof_clock_monotonic_ns() + UINT64_C(1000000) * ALONE_TIMEOUT_MS;
    int stepped;
    while (((stepped = sqlite3_step(statement)) & 0xff) == SQLITE_BUSY &&
           sprof_clock_monotonic_ns() < until_ns) {
        sqlite3_reset(statement);
        nanosleep(&between, NULL);
    }
    return stepped;
}

/* Whether another file was made where the recording was. The log beside that is not its. */
static bool is_replaced(struct store *store)
{
    int has_moved = 0;
    return sqlite3_file_control(store->database, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved) ==
               SQLITE_OK &&
           has_moved && !access(store->path, F_OK);
}

/* Back to one file. No other process may have it open. */
static int fold_log(struct store *store, struct sprof_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = store_be_durable(store, error);
    if (is_replaced(store)) {
        sqlite3_wal_checkpoint_v2(store->database, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL);
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "%s is another file now: it was removed or renamed while it was "
                               "written; what was written is in the one that was there",
                               store->path);
    }
    if (!status)
        status = store_prepare(store, "PRAGMA journal_mode = DELETE", &statement, error);
    if (status)
        return status;
    const int stepped = step_alone(statement);
    if ((stepped & 0xff) == SQLITE_BUSY)
        status = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "another program has %s open: part of the recording stays in "
                                 "%s-wal; keep both together",
                                 store->path, store->path);
    else if (stepped != SQLITE_ROW)
        status = store_fail(store, error);
    sqlite3_finalize(statement);
    return status;
}

int store_finish(struct store *store, struct sprof_error *error)
{
    finalize_inserts(store);
    close_gaps(store);
    store->writable = false;
    const int status = fold_log(store, error);
    return status ? status : store_exec(store, "PRAGMA query_only = ON", error);
}

int store_close(struct store *store, struct sprof_error *error)
{
    if (!store)
        return 0;
    const int status = store->writable && !store->is_copy ? store_finish(store, error) : 0;
    free_store(store);
    return status;
}
