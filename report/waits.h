/* report, inside: what threads wait for, and where, in one sentence. */
#ifndef SPROF_REPORT_WAITS_H
#define SPROF_REPORT_WAITS_H

#include "report/dataset.h"

/* Sets `waits` of a dataset of CPU time whose threads mostly had no CPU, where the recording holds
 * waits: "71 % of threads' time is waiting: 54 % for a lock in book, 9 % asleep in tick". Waits for
 * work are apart. Of samples by the wall clock it names the waits that their stacks show. The
 * selection is the dataset's. Leaves it NULL else. Errors as report_dataset_load. */
int report_waits_sum_up(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, struct sprof_error *error);

#endif
