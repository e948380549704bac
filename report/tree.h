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
    bool has_exclusive;
};

/* A measure as trees show it, below `group`; `focus` titles its percentages of `focus_cost`, NULL:
 * none. */
struct measure report_measure_in_tree(const struct measure *measure, const char *group,
                                      const char *focus, struct model_cost focus_cost);

/* Fills the table. 0 or SPROF_ENOMEM. */
int report_table_of_paths(struct table *table, const struct report_tree *tree);

#endif
