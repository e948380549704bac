/* Writing and reading rows as store/tables.h describes them. */
#ifndef SPROF_STORE_STATEMENT_H
#define SPROF_STORE_STATEMENT_H

#include "store/database.h"

/* Writes `count` rows of the table's struct. A row whose key exists is replaced. */
int store_put(struct store *store, enum store_table_id table, const void *rows, size_t count,
              struct sprof_error *error);

/* A read in progress. Texts and blobs of the row live until the next call. */
struct store_cursor {
    struct store *store;
    const struct store_table *table;
    sqlite3_stmt *statement;
    struct sprof_error *error;
    uint8_t bytes[64]; /* behind the row's STORE_HEX column */
};

/* Prepares the read. ?1 is bound to run_id where the statement has it. Returns 0 or an error; the
 * caller closes in either case. */
int store_cursor_open(struct store_cursor *cursor, struct store *store, enum store_table_id table,
                      uint32_t run_id, struct sprof_error *error);

/* The same of the rows that meet a condition in SQL; not of queries. */
int store_cursor_open_where(struct store_cursor *cursor, struct store *store,
                            enum store_table_id table, const char *condition,
                            struct sprof_error *error);

/* Fills *row and returns 0; 1 at the end; or an error. */
int store_cursor_next(struct store_cursor *cursor, void *row);

/* A hash of all columns of the current row. */
uint64_t store_cursor_content(const struct store_cursor *cursor);

void store_cursor_close(struct store_cursor *cursor);

#endif
