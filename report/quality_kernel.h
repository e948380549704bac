/* What an older or busier kernel took away from a measurement, in words. */
#ifndef SPROF_REPORT_QUALITY_KERNEL_H
#define SPROF_REPORT_QUALITY_KERNEL_H

#include "report/quality.h"

/* Whether samples per CPU came well below the rate asked for, and nothing weighed the late ones:
 * then most of the time without samples is of late timers. (A host that takes CPUs away from a
 * virtual machine makes timers late.) */
bool report_quality_timer_was_late(const struct report_dataset *dataset);

/* Each notes one thing, or nothing: BPF or parts of it; the rate; slices of stacks smaller than
 * asked for, and their cure. 0 or SPROF_ENOMEM. */
int report_quality_note_lacks(struct report_dataset *dataset, struct quality_parts *notes);
int report_quality_note_rate(struct report_dataset *dataset, struct quality_parts *notes);
int report_quality_note_slices(struct report_dataset *dataset, struct quality_parts *notes);

#endif
