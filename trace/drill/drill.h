/* trace, inside: the engine of a drill-down. It gets what was measured in each window of time, and
 * decides which functions get probes next and which lose theirs, until one is found that spends
 * most of its caller's time itself. It changes nothing by itself and reads no process.
 *
 * Functions go by numbers that the caller gives. All times and calls are of what happens below the
 * root, on its threads, by the tree of probed functions: a flow from F to G is what G and all below
 * it took where F was the nearest probed function above. */
#ifndef SPROF_TRACE_DRILL_DRILL_H
#define SPROF_TRACE_DRILL_DRILL_H

#include "base/base.h"
#include "trace/condition.h"

#include <stdbool.h>

/* How a function was found. */
enum trace_found_by { TRACE_BY_ROOT, TRACE_BY_CALL, TRACE_BY_POINTER, TRACE_BY_CALLBACK };

struct trace_drill_figures {
    uint32_t function;
    uint64_t calls, failed;
    double ns, self_ns; /* ns: with all below, of outermost calls */
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

/* Where the engine finds out what calls what. */
struct trace_drill_source {
    void *context;
    /* Appends functions that may have probes: by TRACE_BY_CALL those that this one calls by its
     * code, by TRACE_BY_POINTER those that it may call through pointers, by TRACE_BY_CALLBACK
     * those that functions of other modules may call for it; in the order in which they are to be
     * looked at. Returns 0 or SPROF_ENOMEM. */
    int (*callees)(void *context, uint32_t function, enum trace_found_by by,
                   struct trace_drill_list *list);
};

struct trace_drill_node {
    uint32_t function;
    uint32_t cause; /* below which it was looked for; the root's: its own number */
    enum trace_found_by found_by;
    bool is_probed;
    bool is_uncalled;       /* it lost its probe because it was never called */
    bool is_widened;        /* what it calls has had probes */
    bool has_callbacks;     /* also what others call for it */
    bool is_exhausted;      /* nothing else that it may call is left */
    unsigned idle, low;     /* windows in a row without calls, and with few */
    double part;            /* of the root's weight, when that was last known */
    double share;           /* of its caller's weight, when that was last known */
    uint64_t calls, failed; /* since the last step */
    double ns, self_ns;     /* the same */
    double dropped;         /* share of its time in callees that have lost their probes */
};

enum trace_drill_state {
    TRACE_DRILL_WAITS,    /* the condition does not hold */
    TRACE_DRILL_LOOKS,    /* probes are added and dropped */
    TRACE_DRILL_FOUND,    /* the last one of the way is the culprit */
    TRACE_DRILL_NOTHING,  /* nothing to widen, and no single culprit */
    TRACE_DRILL_OBSERVED, /* what would get probes is listed */
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
    double share; /* of DROP: of its caller's weight; negative: it was never called */
};

struct trace_drill {
    /* Set by the caller. */
    uint32_t root;
    struct trace_condition condition;
    size_t most; /* probes at a time, without those on the way */
    bool keeps_uncalled;
    bool observes;  /* changes nothing, and says what would get probes first */
    bool is_forced; /* the condition holds whatever was measured, until the next step */

    enum trace_drill_state state;
    SPROF_VEC(struct trace_drill_node) nodes; /* all that were ever looked at; the root first */
    SPROF_VEC(struct trace_drill_flow) flows; /* since the last step */
    SPROF_VEC(uint32_t) way;                  /* nodes, from the root */
    SPROF_VEC(struct trace_drill_step) steps; /* what is to be done now */
    struct sprof_map by_function;             /* function → node + 1 */
    unsigned windows;                         /* since the last step, in which the condition held */
    unsigned held, missed;                    /* windows in a row */
    bool has_widened;                         /* in this window */
    unsigned step_count;                      /* that added probes */
    double measured;                          /* by the condition, when probes were first added */
};

/* Takes a window, and sets `steps` and `state`. Returns 0 or SPROF_ENOMEM. */
int trace_drill_take(struct trace_drill *drill, const struct trace_drill_window *window,
                     const struct trace_drill_source *source);

void trace_drill_release(struct trace_drill *drill);

/* The node of a function; NULL: it was never looked at. */
struct trace_drill_node *trace_drill_node_of(const struct trace_drill *drill, uint32_t function);

/* By what a function is judged: its time, or its errors; and the part of that which is in no probed
 * callee. */
double trace_drill_weight(const struct trace_drill *drill, const struct trace_drill_node *node);
double trace_drill_own_weight(const struct trace_drill *drill, const struct trace_drill_node *node);

#endif
