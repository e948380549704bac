/* Rows of texts that the caller gives, as a table in every format. */
#ifndef SPROF_REPORT_LISTING_H
#define SPROF_REPORT_LISTING_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

struct report_style;
struct report_listing;

enum report_cell { REPORT_CELL_TEXT, REPORT_CELL_NUMBER, REPORT_CELL_FUNCTION /* its name */ };

struct report_listing_column {
    const char *name; /* is copied */
    enum report_cell kind;
    bool only_data; /* people do not see it */
};

/* NULL when out of memory. */
struct report_listing *report_listing_new(const struct report_listing_column *columns,
                                          size_t count);
void report_listing_free(struct report_listing *listing);

/* Adds a row of copies, a cell for each column; NULL, and a number without digits, are not known.
 * report_listing_write fails where memory runs out here. */
void report_listing_row(struct report_listing *listing, const char *const *cells);
size_t report_listing_rows(const struct report_listing *listing);

/* Writes all rows once. Errors as report_write. */
int report_listing_write(struct report_listing *listing, FILE *out,
                         const struct report_style *style, struct sprof_error *error);

#endif
