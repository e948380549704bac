/* trace, inside: which uprobes cost more than they may. */
#ifndef SPROF_TRACE_UPROBE_BOUND_H
#define SPROF_TRACE_UPROBE_BOUND_H

#include "base/base.h"

/* What the probes of a function have taken lately. */
struct uprobe_load {
    uint32_t function;
    double ns;
    bool goes; /* it is to lose them */
};

/* Takes functions out, the most expensive first, until the rest takes four fifths of `limit_ns` at
 * most; none, where all take no more than `limit_ns`. The order of the list changes. Returns what
 * all take, in nanoseconds. */
double uprobe_bound(struct uprobe_load *loads, size_t count, double limit_ns);

#endif
