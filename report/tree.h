/* Trees of call paths as tables. */
#ifndef SPROF_REPORT_TREE_H
#define SPROF_REPORT_TREE_H

#include "report/columns.h"

/* A chain is folded from so many frames on, where each has at least this share of the one above. */
enum { REPORT_FOLD_FRAMES = 2, REPORT_FOLD_PERCENT = 98 };

/* A summed tree and how it is to be shown. */
struct report_tree {
    struct report_dataset *dataset;
    const struct model_paths *paths;
    const struct report_table_options *options;
    const char *title, *note;
    struct measure inclusive, exclusive;
    struct model_cost base; /* what the share is of that rows need to be shown */
    bool has_exclusive;
    const char *path_title; /* of the column of names; NULL: "call path" */
    /* The only paths that are shown, as ids; NULL: those with a share of the base. And which paths,
     * by id, end a chain that is folded; NULL: those with less of the cost than usual. */
    const uint32_t *only;
    size_t only_count;
    const bool *landmarks;
    uint32_t group_module; /* its functions are no names, and never folded; 0: there are none */
    bool own_paths;        /* `paths` is that of the dataset: what is inlined is known */
    bool callers; /* below a root are its callers: the nearest is never folded away, and exclusive
                     costs are the root's by this way, which do not add up */
};

/* A measure as trees show it; `of_function` titles its percentages of `function_cost`, NULL:
 * none. */
struct measure report_measure_in_tree(const struct measure *measure, const char *of_function,
                                      struct model_cost function_cost);

/* The tree of all call paths, and `paths` as report_turn_round makes them; `note` is NULL when out
 * of memory. */
struct report_tree report_tree_of_calls(struct report_dataset *dataset,
                                        const struct report_table_options *options);
struct report_tree report_tree_turned_round(struct report_dataset *dataset,
                                            const struct model_paths *paths,
                                            const struct report_table_options *options);

/* Fills `out` with a summed tree: each function at the root with what it costs itself, and below it
 * its callers. Callers of what has less than `min_percent` are left out. 0 or SPROF_ENOMEM. */
int report_turn_round(const struct report_dataset *dataset, double min_percent,
                      struct model_paths *out);

/* Fills the table. 0 or a negative code with *error filled. */
int report_table_of_paths(struct table *table, const struct report_tree *tree,
                          struct sprof_error *error);

/* The hottest path of the dataset, folded into `rows` rows (more where its ends need them), with
 * the frames at which its cost splits, other ways that leave it with much of all, and below its
 * end the calls that share its cost. No rows where no path is longer than a frame. 0 or a negative
 * code with *error filled. */
int report_table_of_hottest(struct table *table, struct report_dataset *dataset, size_t rows,
                            struct sprof_error *error);

#endif
