/* trace, inside: the cost of uprobes. */
#ifndef SPROF_TRACE_UPROBE_OWN_COST_H
#define SPROF_TRACE_UPROBE_OWN_COST_H

#include "trace/uprobe/kernel.h"

/* Puts probes into functions of sprof itself, calls them some hundred times, and notes the cost in
 * kernel->control. Takes some 20 ms. SPROF_EUNSUPPORTED where the kernel does not see the calls of
 * all threads of a process; else as uprobe_kernel_attach. */
int uprobe_own_cost_measure(struct uprobe_kernel *kernel, struct sprof_error *error);

#endif
