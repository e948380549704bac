/* Comma-separated values (RFC 4180). */
#ifndef SPROF_REPORT_CSV_H
#define SPROF_REPORT_CSV_H

#include <stdio.h>

/* Writes one field: a comma before it unless it is the first, quotes where it needs them. NULL is
 * empty. */
void report_csv_field(FILE *out, size_t index, const char *text);

/* Ends a record. */
void report_csv_end(FILE *out);

#endif
