/* report, inside: the table of kept calls. */
#ifndef SPROF_REPORT_KEPT_H
#define SPROF_REPORT_KEPT_H

#include "report/table.h"

/* Whether kept calls can be chosen and cut so; SPROF_EUSAGE names what can. */
int report_kept_check(const struct report_selection *selection,
                      const struct report_table_options *options, struct sprof_error *error);

/* The parts of the dataset that the table needs. */
unsigned report_kept_parts(const struct report_table_options *options,
                           const struct report_selection *selection);

int report_table_of_kept(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error);

#endif
