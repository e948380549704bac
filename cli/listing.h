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
    unsigned width; /* of text; the last column's does not matter */
};

struct cli_listing {
    FILE *out;
    enum cli_format format;
    const struct cli_column *columns;
    size_t column_count, rows;
};

/* --format text|csv|json: sets an enum cli_format. */
int cli_set_format(void *field, const char *value, struct sprof_error *error);

/* Writes what stands before the rows, one row (a cell for each column; NULL: not known, null in
 * JSON and empty elsewhere), and what stands behind them. */
void cli_listing_begin(struct cli_listing *listing);
void cli_listing_row(struct cli_listing *listing, const char *const *cells);
void cli_listing_end(struct cli_listing *listing);

#endif
