/* Trees of call paths below what their samples are of: threads, processes, command lines. */
#include "report/by_key.h"
#include "report/tree.h"
#include "report/utf8_text.h"

#include <inttypes.h>

/* The rows above the call paths are functions of a module without a name. */
struct grouped {
    struct report_dataset *dataset;
    const struct report_table_options *options;
    struct model_paths paths;
    struct sprof_map functions; /* hash of a key and its value → the function that stands for it */
    uint32_t module;
};

static int append_command(struct sprof_str *out, const struct report_dataset *dataset,
                          uint32_t process)
{
    const char *command = report_dataset_command(dataset, process);
    return sprof_str_append(out, command && *command ? command : "?");
}

static int append_process(struct sprof_str *out, const struct report_process *process)
{
    return sprof_str_appendf(out, "%s %" PRId32, process->name ? process->name : "?", process->pid);
}

/* What a row says of a key: "worker 4711". 0 or SPROF_ENOMEM. */
static int append_value(struct sprof_str *out, const struct report_dataset *dataset,
                        enum report_key key, const struct report_cost *cost)
{
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    const struct store_event *event = &dataset->events.items[cost->event - 1];
    const struct report_phase *phase = cost->phase ? &dataset->phases.items[cost->phase - 1] : NULL;
    switch (key) {
    case REPORT_RUN: return sprof_str_appendf(out, "run %" PRIu32, process->run);
    case REPORT_HOST: return sprof_str_append(out, report_dataset_host(dataset, thread->process));
    case REPORT_PROCESS: return append_process(out, process);
    case REPORT_COMMAND: return append_command(out, dataset, thread->process);
    case REPORT_USER:
    case REPORT_CGROUP:
    case REPORT_CONTAINER:
        return sprof_str_appendf(out, "%s %s", report_key_word(key),
                                 report_key_of_process(dataset, key, thread->process));
    case REPORT_THREAD:
        return sprof_str_appendf(out, "%s %" PRId32, thread->name ? thread->name : "?",
                                 thread->tid);
    case REPORT_CPU:
        return cost->cpu < 0 ? sprof_str_append(out, "CPU unknown")
                             : sprof_str_appendf(out, "CPU %" PRId32, cost->cpu);
    case REPORT_EVENT: return sprof_str_append(out, event->name);
    case REPORT_STATE: return sprof_str_append(out, report_event_state(event));
    case REPORT_WAIT: return sprof_str_append(out, report_event_wait(event));
    case REPORT_LOCK:
    case REPORT_HOLDER:
    case REPORT_FIELD:
        return sprof_str_appendf(
            out, "%s %s", key == REPORT_FIELD ? dataset->field : report_key_word(key),
            report_dataset_field_text(dataset, cost->fields, report_key_slot(key)));
    case REPORT_PHASE:
        return sprof_str_appendf(out, "phase %" PRIu32 "%s%s", phase ? phase->number : 0,
                                 phase && phase->mark ? " " : "",
                                 phase && phase->mark ? phase->mark : "");
    default: return sprof_str_append(out, "?");
    }
}

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
    if (append_value(&text, dataset, key, cost))
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
    for (size_t i = 0; i < grouped->options->key_count && !result; i++) {
        const uint32_t group = group_of(grouped, grouped->options->keys[i], cost);
        result = group ? model_paths_child(&grouped->paths, path, group, &path) : SPROF_ENOMEM;
    }
    for (size_t i = stack->frames.count; i-- > 0 && !result;) {
        const uint32_t function =
            report_dataset_frame_function(grouped->dataset, stack->frames.items[i]);
        if (function)
            result = model_paths_child(&grouped->paths, path, function, &path);
    }
    if (!result && path)
        model_paths_add(&grouped->paths, path, cost->cost);
    return result;
}

static int add_costs(struct grouped *grouped)
{
    struct report_dataset *dataset = grouped->dataset;
    const struct report_module module = {.name = "", .path = ""};
    struct report_stack stack = {0};
    int result = sprof_vec_push(&dataset->modules, module) ? SPROF_ENOMEM : 0;
    grouped->module = (uint32_t)dataset->modules.count;
    while (!result && !(result = report_dataset_next_costs(dataset)))
        for (size_t i = 0; i < dataset->costs.count && !result; i++)
            result = add_cost(grouped, &dataset->costs.items[i], &stack);
    sprof_vec_release(&stack.frames);
    model_paths_sum(&grouped->paths);
    return result < 0 ? result : 0;
}

unsigned report_tree_by_parts(const struct report_table_options *options,
                              const struct report_selection *selection)
{
    unsigned parts = REPORT_STACKS;
    (void)selection;
    for (size_t i = 0; i < options->key_count; i++)
        parts |= report_key_part(options->keys[i]);
    return parts;
}

int report_table_of_tree_by(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error)
{
    struct grouped grouped = {.dataset = dataset, .options = options};
    struct report_tree tree = report_tree_of_calls(dataset, options);
    int result = 0;
    for (size_t i = 0; i < options->key_count; i++)
        if (!report_key_is_of_sample(options->keys[i]))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "a tree is grouped by what a whole sample is of, as process, "
                                   "thread, command or cpu, and not by %s",
                                   report_key_word(options->keys[i]));
    if (!tree.note)
        return SPROF_ENOMEM;
    result = add_costs(&grouped);
    tree.paths = &grouped.paths;
    tree.own_paths = false;
    tree.group_module = grouped.module;
    if (!result)
        result = report_table_of_paths(table, &tree, error);
    model_paths_release(&grouped.paths);
    sprof_map_release(&grouped.functions);
    return result;
}
