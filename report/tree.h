/* Trees of call paths as tables. */
#ifndef SPROF_REPORT_TREE_H
#define SPROF_REPORT_TREE_H

#include "report/columns.h"

/* A summed tree and how it is to be shown. */
struct report_tree {
    struct report_dataset *dataset;
    const struct model_paths *paths;
    const struct report_table_options *options;
    const char *title, *note;
    struct measure inclusive, exclusive;
    struct model_cost base; /* what the share is of that rows need to be shown */
    bool has_exclusive;
    bool own_paths; /* `paths` is that of the dataset: what is inlined is known */
    bool callers;   /* below a root are its callers: the nearest is never folded away, and exclusive
                       costs are the root's by this way, which do not add up */
};

/* A measure as trees show it, below `group`; `of_function` titles its percentages of
 * `function_cost`, NULL: none. */
struct measure report_measure_in_tree(const struct measure *measure, const char *group,
                                      const char *of_function, struct model_cost function_cost);

/* Fills the table. 0 or a negative code with *error filled. */
int report_table_of_paths(struct table *table, const struct report_tree *tree,
                          struct sprof_error *error);

#endif
