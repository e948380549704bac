/* Whether a target waited, or was ready while other programs had the CPUs. */
#ifndef SPROF_REPORT_QUALITY_WAITING_H
#define SPROF_REPORT_QUALITY_WAITING_H

#include "report/quality.h"

/* Whether a part of the machine was recorded: processes that fit, of which there may be none. */
bool report_quality_is_of_choice(const struct report_dataset *dataset);

/* Notes why the target used little CPU time, where it did, and what shows more. 0 or SPROF_ENOMEM.
 */
int report_quality_note_waiting(struct report_dataset *dataset, struct quality_parts *notes);

#endif
