/* Rows of named cells in one of three formats: an aligned table for people, CSV (RFC 4180), JSON.
 */
#ifndef SPROF_CLI_LISTING_H
#define SPROF_CLI_LISTING_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

enum cli_format { CLI_TEXT, CLI_CSV, CLI_JSON };

enum { CLI_COLUMNS_MAX = 32 };

struct cli_column {
    const char *name;
    bool is_number; /* right-aligned, and not quoted in JSON; empty cells are null there */
    unsigned width; /* of text, at least; the last column's does not matter */
};

/* Zero is a valid listing, but for its first fields. Rows with names of functions are kept until
 * the end. */
struct cli_listing {
    FILE *out;
    enum cli_format format;
    const struct cli_column *columns;
    size_t column_count, rows;
    uint32_t functions; /* text: bit i where column i has names of functions, which are shown by
                           short ones that no other row's looks like */
    bool full_names;
    SPROF_VEC(const char *) kept; /* cells */
    struct sprof_arena arena;
    bool failed; /* memory ran out: cli_listing_end says so */
};

/* --format text|csv|json: sets an enum cli_format. */
int cli_set_format(void *field, const char *value, struct sprof_error *error);

/* The same for commands whose answer is no table: csv is refused. */
int cli_set_text_or_json(void *field, const char *value, struct sprof_error *error);

/* Writes what stands before the rows, one row (a cell for each column; NULL: not known, null in
 * JSON and empty elsewhere), and what stands behind them. The end must follow; it returns 0 or
 * SPROF_ENOMEM, and releases what was kept. */
void cli_listing_begin(struct cli_listing *listing);
void cli_listing_row(struct cli_listing *listing, const char *const *cells);
int cli_listing_end(struct cli_listing *listing);

#endif
