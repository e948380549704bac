/* Folds call paths with few samples where there are too many paths for a page. */
#ifndef SPROF_REPORT_SLOTS_FOLD_H
#define SPROF_REPORT_SLOTS_FOLD_H

#include "report/slots.h"

/* Leaves at most `most` paths (0: no limit) and gives the costs their new paths; costs of one place
 * are not added up. What is folded below a path stands in a child of it without a function; as long
 * as there is room, the function in which a folded stack ends is a child of that, so that functions
 * keep their exclusive costs. Paths without cost go, too. Returns 0 or SPROF_ENOMEM. */
int report_slots_fold(struct report_slots *slots, size_t most);

#endif
