/* Samples that were taken during calls of some functions. */
#ifndef SPROF_REPORT_DURING_H
#define SPROF_REPORT_DURING_H

#include "report/dataset_parts.h"

/* Reads when threads were in the calls that the selection names, of all runs of the file that
 * were made since the machine was started. Fails with SPROF_ENOTFOUND where there are none. */
int report_dataset_choose_during(struct report_loading *loading,
                                 const struct report_selection *selection,
                                 struct sprof_error *error);

/* Whether a sample of runs.items[run] was taken then; true where no calls were asked for. */
bool report_dataset_is_during(const struct report_dataset *dataset, size_t run,
                              const struct store_sample *sample);

/* Finds the newest run with samples, which is read where no run is named; 0: there is none. Returns
 * 0 or a negative code. */
int report_during_run(struct report_loading *loading, uint32_t *id, struct sprof_error *error);

#endif
