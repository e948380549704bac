/* Measures the cost of uprobes. */
#ifndef SPROF_UPROBE_OWN_COST_H
#define SPROF_UPROBE_OWN_COST_H

#include "uprobe/kernel.h"

/* Probes functions of sprof for some 20 ms and sets the costs in kernel->control.
 * SPROF_EUNSUPPORTED: the kernel misses calls of some threads; else as uprobe_kernel_attach. */
int uprobe_own_cost_measure(struct uprobe_kernel *kernel, struct sprof_error *error);

#endif
