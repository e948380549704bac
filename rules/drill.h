/* The engine of a drill-down. In each window of time it decides which functions gain or lose
 * probes, until one spends most of its caller's time itself. It changes no process.
 *
 * The caller numbers functions. Figures are of calls below the root on its threads. A flow from F
 * to G is the time of G with its callees, where F is the nearest probed function above. */
#ifndef SPROF_RULES_DRILL_H
#define SPROF_RULES_DRILL_H

#include "base/base.h"
#include "rules/condition.h"

#include <stdbool.h>

enum rules_found_by { RULES_BY_ROOT, RULES_BY_CALL, RULES_BY_POINTER, RULES_BY_CALLBACK };

struct rules_drill_figures {
    uint32_t function;
    uint64_t calls, failed;
    double ns, self_ns; /* ns: of outermost calls, with callees */
};

struct rules_drill_flow {
    uint32_t caller, callee;
    uint64_t calls;
    double ns;
};

struct rules_drill_window {
    struct rules_window_calls root;
    const struct rules_drill_figures *figures;
    const struct rules_drill_flow *flows;
    size_t figure_count, flow_count;
};

struct rules_drill_list {
    SPROF_VEC(uint32_t) functions;
};

struct rules_drill_source {
    void *context;
    /* Appends functions that may have probes, best first: direct callees (RULES_BY_CALL), possible
     * targets of pointers, or what other modules may call back. Returns 0 or SPROF_ENOMEM. */
    int (*callees)(void *context, uint32_t function, enum rules_found_by by,
                   struct rules_drill_list *list);
};

struct rules_drill_node {
    uint32_t function;
    uint32_t cause; /* function above; the root's: itself */
    enum rules_found_by found_by;
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

enum rules_drill_state {
    RULES_DRILL_WAITS, /* the condition does not hold */
    RULES_DRILL_LOOKS,
    RULES_DRILL_FOUND,    /* the culprit is last on the way */
    RULES_DRILL_NOTHING,  /* nothing left, no culprit */
    RULES_DRILL_OBSERVED, /* steps were only listed */
};

enum rules_drill_action {
    RULES_DRILL_ADD,
    RULES_DRILL_DROP,
    RULES_DRILL_WOULD_ADD,
};

struct rules_drill_step {
    enum rules_drill_action action;
    uint32_t function, cause;
    enum rules_found_by found_by;
    double share; /* when dropped: of its caller's weight; negative: never called */
};

struct rules_drill {
    uint32_t root;
    struct rules_condition condition;
    size_t most; /* probes at a time, besides the way */
    bool keeps_uncalled;
    bool observes;  /* lists the first steps only */
    bool is_forced; /* begins without the condition */

    enum rules_drill_state state;
    SPROF_VEC(struct rules_drill_node) nodes; /* root first */
    SPROF_VEC(struct rules_drill_flow) flows; /* since the last step */
    SPROF_VEC(uint32_t) way;                  /* nodes from the root */
    SPROF_VEC(struct rules_drill_step) steps;
    struct sprof_map by_function; /* function → node + 1 */
    unsigned windows;             /* with the condition, since the last step */
    unsigned held, missed;        /* windows in a row */
    bool has_widened;
    unsigned step_count;
    double measured; /* the condition's value at the first step */
};

/* Sets `steps` and `state`. Returns 0 or SPROF_ENOMEM. */
int rules_drill_take(struct rules_drill *drill, const struct rules_drill_window *window,
                     const struct rules_drill_source *source);

void rules_drill_release(struct rules_drill *drill);

/* Returns NULL for an unknown function. */
struct rules_drill_node *rules_drill_node_of(const struct rules_drill *drill, uint32_t function);

/* Time or errors, as the condition says; and the part outside probed callees. */
double rules_drill_weight(const struct rules_drill *drill, const struct rules_drill_node *node);
double rules_drill_own_weight(const struct rules_drill *drill, const struct rules_drill_node *node);

#endif
