/* What every file of this library needs of an open database: SQLite's codes as sprof's errors,
 * single statements, transactions. */
#ifndef SPROF_STORE_DATABASE_H
#define SPROF_STORE_DATABASE_H

#include "base/base.h"
#include "store/guard.h"
#include "store/tables.h"

#include <sqlite3.h>
#include <stdbool.h>

/* A statement for several rows takes two thirds of the time of one for each, and more rows gain
 * little. */
enum { STORE_ROWS_AT_ONCE = 8 };

struct store {
    sqlite3 *database;
    char *path;
    struct store_guard guard;
    bool writable, durable;  /* durable: SQLite waits for the disk where it must */
    bool only_new;           /* no row that is written exists already */
    bool rewritten;          /* many rows have grown or gone: pages have gaps */
    bool is_copy;            /* of a recording that goes on; it vanishes when it is closed */
    uint32_t running;        /* … the run that was being recorded; 0: none */
    struct sprof_map copied; /* … table and id of a row → its content when it was copied */
    const struct store_held *held; /* borrowed; NULL: no rows but its own */
    int64_t steps_left;            /* of what a reader may make SQLite do */
    uint64_t opened_ns;
    sqlite3_stmt *insert[STORE_TABLES];         /* prepared at their first use */
    sqlite3_stmt *insert_several[STORE_TABLES]; /* … of STORE_ROWS_AT_ONCE rows */
};

/* Sets the error of the last SQLite call, with the file and the cure. Returns its code. */
int store_fail(struct store *store, struct sprof_error *error);

/* SPROF_EFORMAT: rows that this schema cannot hold; `what` says where. */
int store_fail_damaged(struct store *store, const char *what, struct sprof_error *error);

/* Runs statements that return no rows. */
int store_exec(struct store *store, const char *sql, struct sprof_error *error);

/* The first column of the first row as a number; *value stays as it is where there is no row. */
int store_scalar(struct store *store, const char *sql, int64_t *value, struct sprof_error *error);

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **statement,
                  struct sprof_error *error);

/* From one second after opening on, what is written survives a power cut (to the last checkpoint).
 * A shorter recording is not worth waiting for the disk. To be called outside transactions. */
int store_be_durable(struct store *store, struct sprof_error *error);

/* Writes the file anew without gaps in its pages, as a whole or not at all. Where that cannot be,
 * it stays as it is. */
void store_vacuum(struct store *store);

/* A transaction: begin; then end with the status so far, which commits on 0 and rolls back
 * otherwise. Returns that status, or why the commit failed. */
int store_begin(struct store *store, struct sprof_error *error);
int store_end(struct store *store, int status, struct sprof_error *error);

#endif
