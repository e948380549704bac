/* Numbers as programs read them: with full precision. */
#ifndef SPROF_REPORT_DATA_H
#define SPROF_REPORT_DATA_H

#include "report/table.h"

enum { DATA_BYTES = 48 };

/* Writes the number of a cell; percentages from 0 to 100, times in seconds. NULL for texts. */
const char *data_number(char buffer[static DATA_BYTES], enum table_kind kind,
                        const struct table_cell *cell);

/* Nanoseconds as seconds, exactly. */
const char *data_seconds(char buffer[static DATA_BYTES], uint64_t time_ns);

#endif
