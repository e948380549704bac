/* Limits the cost of uprobes. */
#ifndef SPROF_UPROBE_BOUND_H
#define SPROF_UPROBE_BOUND_H

#include "base/base.h"

struct uprobe_load {
    uint32_t function;
    double ns;
    bool goes; /* the function is to lose its probes */
};

/* If the sum exceeds `limit_ns`, marks the most expensive until the rest costs at most four fifths.
 * Sorts the list. Returns the sum in ns. */
double uprobe_bound(struct uprobe_load *loads, size_t count, double limit_ns);

#endif
