/* The tree of all functions turned round: each function at the root with what it costs itself, and
 * below it the ways into it, its immediate callers first. */
#include "report/tree.h"

#include <stdlib.h>

/* Cost on its way from the function that it belongs to outwards. */
struct climber {
    uint32_t path;  /* where it stands in the dataset's tree */
    uint32_t below; /* what that has become in the tree turned round */
    struct model_cost cost;
};

struct climbers {
    struct climber *items;
    size_t count, capacity;
};

static int start(const struct model_paths *paths, struct model_paths *out,
                 struct climbers *climbers)
{
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        struct climber climber = {.path = path->id, .cost = path->costs.exclusive};
        if (!climber.cost.samples && !climber.cost.weight)
            continue;
        if (model_paths_child(out, 0, path->function, &climber.below) ||
            sprof_vec_push(climbers, climber))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Level by level. A path of whose callers no row could be shown stays folded: deep trees would
 * otherwise grow with the square of their depth. */
int report_turn_round(const struct report_dataset *dataset, double min_percent,
                      struct model_paths *out)
{
    const struct model_path *paths = dataset->paths.items.items;
    struct climbers climbers = {0};
    SPROF_VEC(struct model_cost) sums = {0}; /* [path of `out` - 1], of those on this level */
    int result = start(&dataset->paths, out, &climbers);
    while (climbers.count && !result) {
        while (sums.count < out->items.count && !result)
            result = sprof_vec_push(&sums, (struct model_cost){0});
        for (size_t i = 0; i < climbers.count && !result; i++) {
            struct model_cost *sum = &sums.items[climbers.items[i].below - 1];
            sum->samples += climbers.items[i].cost.samples;
            sum->weight += climbers.items[i].cost.weight;
        }
        size_t going_on = 0;
        for (size_t i = 0; i < climbers.count && !result; i++) {
            struct climber climber = climbers.items[i];
            const uint32_t caller = paths[climber.path - 1].parent;
            if (caller && report_columns_enough(dataset, sums.items[climber.below - 1],
                                                dataset->total, min_percent)) {
                result = model_paths_child(out, climber.below, paths[caller - 1].function,
                                           &climber.below);
                climber.path = caller;
                climbers.items[going_on++] = climber;
            } else {
                model_paths_add(out, climber.below, climber.cost);
            }
        }
        climbers.count = going_on;
    }
    sprof_vec_release(&climbers);
    sprof_vec_release(&sums);
    if (!result)
        model_paths_sum(out);
    return result;
}

struct report_tree report_tree_turned_round(struct report_dataset *dataset,
                                            const struct model_paths *paths,
                                            const struct report_table_options *options)
{
    struct measure self = report_measure_in_tree(&report_measure_inclusive, NULL, dataset->total);
    self.title = report_measure_exclusive.title; /* each way has its part of what the root has */
    return (struct report_tree){
        .dataset = dataset,
        .paths = paths,
        .options = options,
        .title = "Functions, and the ways into them",
        .note = report_columns_base(dataset),
        .inclusive = self,
        .base = dataset->total,
        .callers = true,
    };
}

int report_table_bottom_up(struct table *table, struct report_dataset *dataset,
                           const struct report_table_options *options, struct sprof_error *error)
{
    struct model_paths paths = {0};
    const struct report_tree tree = report_tree_turned_round(dataset, &paths, options);
    int result =
        tree.note ? report_turn_round(dataset, options->min_percent, &paths) : SPROF_ENOMEM;
    if (!result)
        result = report_table_of_paths(table, &tree, error);
    model_paths_release(&paths);
    return result;
}
