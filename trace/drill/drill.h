/* The engine of a drill-down. In each window of time it decides which functions gain or lose
 * probes, until one spends most of its caller's time itself. It changes no process.
 *
 * The caller numbers functions. Figures are of calls below the root on its threads. A flow from F
 * to G is the time of G with its callees, where F is the nearest probed function above. */
#ifndef SPROF_TRACE_DRILL_DRILL_H
#define SPROF_TRACE_DRILL_DRILL_H

#include "base/base.h"
#include "trace/condition.h"

#include <stdbool.h>

enum trace_found_by { TRACE_BY_ROOT, TRACE_BY_CALL, TRACE_BY_POINTER, TRACE_BY_CALLBACK };

struct trace_drill_figures {
    uint32_t function;
    uint64_t calls, failed;
    double ns, self_ns; /* ns: of outermost calls, with callees */
};

struct trace_drill_flow {
    uint32_t caller, callee;
    uint64_t calls;
    double ns;
};

struct trace_drill_window {
    struct trace_window_calls root;
    const struct trace_drill_figures *figures;
    const struct trace_drill_flow *flows;
    size_t figure_count, flow_count;
};

struct trace_drill_list {
    SPROF_VEC(uint32_t) functions;
};

struct trace_drill_source {
    void *context;
    /* Appends functions that may have probes, best first: direct callees (TRACE_BY_CALL), possible
     * targets of pointers, or what other modules may call back. Returns 0 or SPROF_ENOMEM. */
    int (*callees)(void *context, uint32_t function, enum trace_found_by by,
                   struct trace_drill_list *list);
};

struct trace_drill_node {
    uint32_t function;
    uint32_t cause; /* function above; the root's: itself */
    enum trace_found_by found_by;
    bool is_probed;
    bool is_uncalled;       /* dropped without calls */
    bool is_widened;        /* callees were tried */
    bool has_callbacks;     /* callbacks were tried, too */
    bool is_exhausted;      /* nothing is left to try */
    unsigned idle, low;     /* windows without calls, with few; in a row */
    double part;            /* of the root's weight */
    double share;           /* of its caller's weight */
    uint64_t calls, failed; /* since the last step */
    double ns, self_ns;
    double dropped; /* share of its time in callees that lost probes */
};

enum trace_drill_state {
    TRACE_DRILL_WAITS, /* the condition does not hold */
    TRACE_DRILL_LOOKS,
    TRACE_DRILL_FOUND,    /* the culprit is last on the way */
    TRACE_DRILL_NOTHING,  /* nothing left, no culprit */
    TRACE_DRILL_OBSERVED, /* steps were only listed */
};

enum trace_drill_action {
    TRACE_DRILL_ADD,
    TRACE_DRILL_DROP,
    TRACE_DRILL_WOULD_ADD,
};

struct trace_drill_step {
    enum trace_drill_action action;
    uint32_t function, cause;
    enum trace_found_by found_by;
    double share; /* when dropped: of its caller's weight; negative: never called */
};

struct trace_drill {
    uint32_t root;
    struct trace_condition condition;
    size_t most; /* probes at a time, besides the way */
    bool keeps_uncalled;
    bool observes;  /* lists the first steps only */
    bool is_forced; /* begins without the condition */

    enum trace_drill_state state;
    SPROF_VEC(struct trace_drill_node) nodes; /* root first */
    SPROF_VEC(struct trace_drill_flow) flows; /* since the last step */
    SPROF_VEC(uint32_t) way;                  /* nodes from the root */
    SPROF_VEC(struct trace_drill_step) steps;
    struct sprof_map by_function; /* function → node + 1 */
    unsigned windows;             /* with the condition, since the last step */
    unsigned held, missed;        /* windows in a row */
    bool has_widened;
    unsigned step_count;
    double measured; /* the condition's value at the first step */
};

/* Sets `steps` and `state`. Returns 0 or SPROF_ENOMEM. */
int trace_drill_take(struct trace_drill *drill, const struct trace_drill_window *window,
                     const struct trace_drill_source *source);

void trace_drill_release(struct trace_drill *drill);

/* Returns NULL for an unknown function. */
struct trace_drill_node *trace_drill_node_of(const struct trace_drill *drill, uint32_t function);

/* Time or errors, as the condition says; and the part outside probed callees. */
double trace_drill_weight(const struct trace_drill *drill, const struct trace_drill_node *node);
double trace_drill_own_weight(const struct trace_drill *drill, const struct trace_drill_node *node);

#endif
