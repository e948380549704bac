/* Reads new calls below roots of drill-downs, from all threads' call paths. */
#ifndef SPROF_TRACE_DRILL_BELOW_H
#define SPROF_TRACE_DRILL_BELOW_H

#include "agent/probe.h"
#include "rules/rules.h"

struct trace_session;

enum { TRACE_DRILL_ROOTS = 32, TRACE_USUAL_WINDOWS = 32 };

struct trace_below {
    uint32_t root; /* as in struct rules_drill */
    SPROF_VEC(struct rules_drill_figures) figures;
    SPROF_VEC(uint64_t) figure_stamps; /* of the last path added */
    SPROF_VEC(struct rules_drill_flow) flows;
    SPROF_VEC(uint64_t) flow_stamps;
    struct sprof_map by_function, by_pair; /* → index + 1 */
    /* The root's own: */
    uint64_t calls, failed, buckets[PROBE_BUCKETS];
    double total_ns, self_ns;
    SPROF_VEC(double) threads; /* averages of threads with enough calls */
    bool has_calls;            /* in an earlier window, or still open */
    SPROF_VEC(double) usual;   /* earlier averages */
};

/* As last read. */
struct trace_below_slab {
    struct sprof_map nodes, stats; /* node or function → index + 1 in `seen` */
    SPROF_VEC(struct trace_below_seen {
        uint64_t calls;
        int64_t ticks;
        uint64_t failed;
        int64_t total;
        struct probe_histogram *histogram; /* of roots; owned */
    })
    seen;
};

struct trace_below_program {
    struct trace_below_slab *slabs[PROBE_SLABS]; /* owned; NULL: not read */
    SPROF_VEC(uint32_t)
    on; /* probes on now or at the last window */
};

void trace_below_program_free(struct trace_below_program *program);

struct trace_below_reader {
    struct trace_below below[TRACE_DRILL_ROOTS];
    size_t root_count;
    uint64_t stamp;
    uint32_t chain[PROBE_PATH_DEPTH]; /* innermost first */
};

/* Probes need numbers. Returns 0 or SPROF_ENOMEM. */
int trace_below_read(struct trace_below_reader *reader, struct trace_session *program,
                     uint32_t slab);

/* Adds calls with bad results to failed ones, once the slabs are read. Returns 0 or SPROF_ENOMEM.
 */
int trace_below_read_results(struct trace_below_reader *reader, struct trace_session *program);

/* The next reading of the slab begins at 0. */
void trace_below_forget(struct trace_below_slab *slab);

/* Begins a new window. */
void trace_below_clear(struct trace_below *below);
void trace_below_release(struct trace_below *below);

/* Fills in `calls`, and adds the average to `usual`. Returns 0 or SPROF_ENOMEM. */
int trace_below_calls(struct trace_below *below, const struct rules_condition *condition,
                      double ns_per_tick, struct rules_window_calls *calls);

#endif
