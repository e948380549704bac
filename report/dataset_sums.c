/* Adds functions and costs to a dataset, and computes its totals. */
#include "report/dataset_parts.h"

uint32_t report_dataset_add_function(struct report_dataset *dataset,
                                     struct report_function function, struct model_function facts)
{
    if (sprof_vec_push(&dataset->functions, function) || sprof_vec_push(&dataset->facts, facts))
        return 0;
    return (uint32_t)dataset->functions.count;
}

void report_dataset_count(struct report_loading *loading, uint32_t path, struct model_cost cost,
                          double sum_squares)
{
    struct model_cost *own = &loading->rows.items[path - 1].costs.exclusive;
    own->samples += cost.samples;
    own->weight += cost.weight;
    if (cost.samples) {
        loading->sum_of_weights += (double)cost.weight;
        loading->sum_of_squares += sum_squares;
    } else if (cost.weight) {
        loading->dataset->weighted = true; /* CPU time that has no samples counts too */
    }
}

static struct model_cost cost_of_function(const struct report_dataset *dataset, uint32_t function)
{
    struct model_cost cost = {0};
    for (size_t i = 0; function && i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        if (path->function == function) {
            cost.samples += path->costs.exclusive.samples;
            cost.weight += path->costs.exclusive.weight;
        }
    }
    return cost;
}

void report_dataset_total(struct report_dataset *dataset)
{
    dataset->total = model_paths_total(&dataset->paths);
    dataset->apart.not_sampled = cost_of_function(dataset, dataset->apart.not_sampled_function);
    dataset->apart.outside = cost_of_function(dataset, dataset->apart.outside_function);
}
