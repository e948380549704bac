/* report, inside: kept calls as a tree, and one after the other. */
#ifndef SPROF_REPORT_KEPT_TREE_H
#define SPROF_REPORT_KEPT_TREE_H

#include "report/dataset.h"

enum { REPORT_KEPT_NONE = UINT32_MAX };
enum report_kept_order { REPORT_KEPT_BY_START, REPORT_KEPT_BY_DURATION, REPORT_KEPT_BY_SELF };

/* A call in the tree. Calls are named by their places in the dataset. */
struct report_kept_leaf {
    uint32_t parent, first_child, next_sibling; /* REPORT_KEPT_NONE: there is none */
    bool is_found;                              /* for the table: by --focus */
    bool has_found;                             /* … it or a call below it is */
};

struct report_kept_tree {
    const struct report_kept *kept;
    struct report_kept_leaf *leaves; /* one more: above the roots */
    uint32_t circles;                /* of callers, which were opened */
    enum report_kept_order order;    /* of siblings … */
    bool ascending;
    bool by_thread; /* … behind all calls of threads that were met before */
};

/* A call, and the place of its caller. */
struct report_kept_link {
    uint64_t start_ns;
    uint32_t above; /* REPORT_KEPT_NONE: there is none */
    uint32_t walk;  /* 0 at first */
};

/* Damaged recordings, and those of earlier agents, have calls whose callers are a circle, which no
 * root leads to. Takes the caller off the call that began first. Returns how many circles there
 * were. */
uint32_t report_kept_open_circles(struct report_kept_link *links, uint32_t count);

/* Makes the tree of all kept calls, whose order is given. A call whose caller has no row is a root.
 * Returns 0 or SPROF_ENOMEM; the caller releases in any case. */
int report_kept_tree_make(struct report_kept_tree *tree);
void report_kept_tree_release(struct report_kept_tree *tree);

/* How a call ended: "return", "exception", "open", …; and as it stands behind names: " → open",
 * NULL where it returned. */
const char *report_kept_exit(const struct report_kept_call *call);
const char *report_kept_mark(const struct report_kept_call *call);

/* The conditions of the rules that a call met, or "caller of kept", in the arena; NULL: out of
 * memory. */
const char *report_kept_reason(struct report_dataset *dataset, const struct report_kept_call *call);

/* A call with its place in time. Durations are without what probes took, while starts are not: a
 * call lasts at least until the calls in it have ended, and lies in its caller so. */
struct report_kept_row {
    const struct report_kept_call *call;
    uint32_t depth;  /* from 1 */
    uint64_t end_ns; /* 0: it has not ended */
};

/* Calls `put` for the kept calls of a run (its place in the dataset's runs), thread after thread,
 * each before those that it called, at most `limit`. Returns what `put` returned, or a negative
 * code. */
int report_kept_each(const struct report_kept *kept, uint32_t run, uint64_t limit,
                     int (*put)(void *context, const struct report_kept_row *row), void *context);

#endif
