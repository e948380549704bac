/* What calls of functions use beside time, where it was measured: stack, and bytes allocated. */
#ifndef SPROF_REPORT_CALL_USES_H
#define SPROF_REPORT_CALL_USES_H

#include "report/table.h"

struct store;

/* Reads it for whole runs. Returns 0 or a negative code. */
int report_call_uses_load(struct report_dataset *dataset, struct store *store,
                          struct sprof_error *error);

/* Columns of those that any function has; and the cells of one function, where the table has such
 * columns. */
void report_call_uses_columns(struct table *table, const struct report_dataset *dataset);
void report_call_uses_cells(struct table *table, const struct report_dataset *dataset,
                            uint32_t function);

#endif
