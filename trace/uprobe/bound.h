/* trace, inside: the bound of what uprobes cost. */
#ifndef SPROF_TRACE_UPROBE_BOUND_H
#define SPROF_TRACE_UPROBE_BOUND_H

#include "base/base.h"

/* The recent cost of a function's probes. */
struct uprobe_load {
    uint32_t function;
    double ns;
    bool goes; /* it loses them */
};

/* Takes functions out, the most expensive first, until the rest takes at most four fifths of
 * `limit_ns`; none, where all take no more than `limit_ns`. Reorders the list. Returns the cost of
 * all, in nanoseconds. */
double uprobe_bound(struct uprobe_load *loads, size_t count, double limit_ns);

#endif
