/* report, inside: what ended the waits of threads. */
#ifndef SPROF_REPORT_WAKERS_H
#define SPROF_REPORT_WAKERS_H

#include "report/table.h"

/* The parts of the dataset that both tables need. */
unsigned report_wakers_parts(const struct report_table_options *options,
                             const struct report_selection *selection);

/* Each kind of wait with its place, beside what ended it. */
int report_table_of_wakers(struct table *table, struct report_dataset *dataset,
                           const struct report_table_options *options, struct sprof_error *error);

/* The same with what the waker waited for meanwhile, and so on. */
int report_table_of_wait_chains(struct table *table, struct report_dataset *dataset,
                                const struct report_table_options *options,
                                struct sprof_error *error);

#endif
