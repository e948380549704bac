/* Trees of call paths below what their samples are of: threads, processes, command lines. */
#include "report/by_key.h"
#include "report/key_text.h"
#include "report/tree.h"
#include "report/utf8_text.h"

/* The rows above the call paths are functions of a module without a name. */
struct grouped {
    struct report_dataset *dataset;
    const enum report_key *keys;
    size_t key_count;
    struct model_paths *paths;
    struct sprof_map functions; /* hash of a key and its value → the function that stands for it */
    uint32_t module;
};

/* The function that stands for the key's value of a cost; 0 when out of memory. */
static uint32_t group_of(struct grouped *grouped, enum report_key key,
                         const struct report_cost *cost)
{
    struct report_dataset *dataset = grouped->dataset;
    const uint64_t hash = sprof_hash_pair(report_key_of_sample(dataset, key, cost), key + 1);
    const uint64_t *known = sprof_map_get(&grouped->functions, hash);
    struct sprof_str text = {0};
    if (known)
        return (uint32_t)*known;
    if (report_key_append(&text, dataset, key, cost, REPORT_KEY_AMONG))
        return 0;
    const struct report_function function = {.name = report_utf8_keep(&dataset->arena, &text)};
    const uint32_t number =
        function.name ? report_dataset_add_function(
                            dataset, function, (struct model_function){.module = grouped->module})
                      : 0;
    return number && !sprof_map_put(&grouped->functions, hash, number) ? number : 0;
}

static int add_cost(struct grouped *grouped, const struct report_cost *cost,
                    struct report_stack *stack)
{
    uint32_t path = 0;
    int result = report_dataset_stack(grouped->dataset, cost->node, stack);
    for (size_t i = 0; i < grouped->key_count && !result; i++) {
        const uint32_t group = group_of(grouped, grouped->keys[i], cost);
        result = group ? model_paths_child(grouped->paths, path, group, &path) : SPROF_ENOMEM;
    }
    for (size_t i = stack->frames.count; i-- > 0 && !result;) {
        const uint32_t function =
            report_dataset_frame_function(grouped->dataset, stack->frames.items[i]);
        if (function)
            result = model_paths_child(grouped->paths, path, function, &path);
    }
    if (!result && path)
        model_paths_add(grouped->paths, path, cost->cost);
    return result;
}

int report_keys_group(struct report_dataset *dataset, const enum report_key *keys, size_t count,
                      struct model_paths *paths, uint32_t *module)
{
    struct grouped grouped = {.dataset = dataset, .keys = keys, .key_count = count, .paths = paths};
    const struct report_module nameless = {.name = "", .path = ""};
    struct report_stack stack = {0};
    int result = sprof_vec_push(&dataset->modules, nameless) ? SPROF_ENOMEM : 0;
    *module = grouped.module = (uint32_t)dataset->modules.count;
    while (!result && !(result = report_dataset_next_costs(dataset)))
        for (size_t i = 0; i < dataset->costs.count && !result; i++)
            result = add_cost(&grouped, &dataset->costs.items[i], &stack);
    sprof_vec_release(&stack.frames);
    sprof_map_release(&grouped.functions);
    model_paths_sum(paths);
    return result < 0 ? result : 0;
}

unsigned report_tree_by_parts(const struct report_table_options *options,
                              const struct report_selection *selection)
{
    (void)selection;
    return report_keys_tree_parts(options->keys, options->key_count);
}

int report_table_of_tree_by(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error)
{
    struct report_tree tree = report_tree_of_calls(dataset, options);
    struct model_paths paths = {0};
    int result = report_keys_check(options->keys, options->key_count, "a tree", error);
    if (!result && !tree.note)
        result = SPROF_ENOMEM;
    if (!result)
        result = report_keys_group(dataset, options->keys, options->key_count, &paths,
                                   &tree.group_module);
    tree.paths = &paths;
    tree.own_paths = false;
    if (!result)
        result = report_table_of_paths(table, &tree, error);
    model_paths_release(&paths);
    return result;
}
