/* The state of a trace with uprobes. */
#ifndef SPROF_TRACE_UPROBE_UPROBES_INSIDE_H
#define SPROF_TRACE_UPROBE_UPROBES_INSIDE_H

#include "uprobe/uprobe.h"

/* A file whose probes may be placed again. */
struct placed {
    int fd; /* owned */
    SPROF_VEC(struct uprobe_site) sites;
};

struct trace_uprobes {
    struct uprobe_kernel kernel;
    struct uprobe_figures figures;
    struct sprof_map slabs;   /* thread id → slab, with OVER */
    SPROF_VEC(uint32_t) tids; /* of live threads */
    uint64_t next_read_ns;
    uint64_t left_over; /* calls without a slab */
    SPROF_VEC(struct placed) placed;
    bool is_fixed; /* a file could not be kept open, so no uprobe is placed again */
    SPROF_VEC(struct uprobe_load) loads;
    SPROF_VEC(double) spent_ns; /* by probe */
    uint64_t next_bound_ns, bound_cpu_ns;
};

#endif
