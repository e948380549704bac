/* Adds up the tree of call paths anew without inlined functions: their costs go to the functions
 * that their code was made part of. */
#include "report/dataset_parts.h"

#include <stdlib.h>

/* A node of stacks while it becomes a path. */
struct real_node {
    struct model_cost cost;
    uint32_t path;
    bool needed; /* samples end here or further in */
};

static void count_costs(const struct report_dataset *dataset, struct real_node *nodes)
{
    for (size_t i = 0; i < dataset->costs.count; i++) {
        const struct report_cost *cost = &dataset->costs.items[i];
        struct real_node *node = &nodes[cost->node];
        node->cost.samples += cost->cost.samples;
        node->cost.weight += cost->cost.weight;
        node->needed = true;
    }
}

/* Costs by CPU and phase come in parts; they can be read again afterwards. */
static int count_all_costs(struct report_dataset *dataset, struct real_node *nodes,
                           int (*next_costs)(struct report_dataset *))
{
    int result = 0;
    if (!dataset->packed.items.count) {
        count_costs(dataset, nodes);
        return 0;
    }
    while (!(result = next_costs(dataset)))
        count_costs(dataset, nodes);
    dataset->packed.next = 0;
    dataset->costs.count = 0;
    return result < 0 ? result : 0;
}

/* A part that its function called is in that function's path, as elsewhere. */
static int add_node(const struct report_dataset *dataset, struct real_node *nodes, uint32_t number,
                    struct model_paths *out)
{
    const struct report_frame *frames = dataset->frames.items;
    const uint32_t outer = dataset->nodes.items[number - 1].parent;
    const uint32_t frame = report_dataset_node_frame(dataset, number);
    const uint32_t outer_frame = outer ? report_dataset_node_frame(dataset, outer) : 0;
    const uint32_t part = frames[frame - 1].part;
    const uint32_t outer_part = outer_frame ? frames[outer_frame - 1].part : 0;
    struct real_node *node = &nodes[number];
    node->path = nodes[outer].path;
    if (!frames[frame - 1].function ||
        (outer_part && part && report_dataset_is_called_part(dataset, part, outer_part)))
        return 0;
    return model_paths_child(out, nodes[outer].path, frames[frame - 1].function, &node->path);
}

int report_dataset_read_real_functions(struct report_dataset *dataset,
                                       int (*next_costs)(struct report_dataset *))
{
    const size_t count = dataset->nodes.count;
    struct real_node *nodes = calloc(count + 1, sizeof *nodes);
    struct model_paths paths = {0};
    int result = nodes ? count_all_costs(dataset, nodes, next_costs) : SPROF_ENOMEM;
    for (size_t number = count; number > 0 && !result; number--) {
        const uint32_t outer = dataset->nodes.items[number - 1].parent;
        nodes[outer].needed = nodes[outer].needed || nodes[number].needed;
    }
    for (uint32_t number = 1; number <= count && !result; number++) {
        if (!nodes[number].needed)
            continue;
        result = add_node(dataset, nodes, number, &paths);
        if (!result && nodes[number].path)
            model_paths_add(&paths, nodes[number].path, nodes[number].cost);
    }
    free(nodes);
    if (result) {
        model_paths_release(&paths);
        return result;
    }
    model_paths_sum(&paths);
    model_paths_release(&dataset->paths);
    dataset->paths = paths;
    dataset->path_inlined.count = 0;
    return 0;
}
