/* Stacks, samples and texts as the exporters need them. */
#include "report/export/export.h"

#include "report/dataset_parts.h"

#include <string.h>

/* == Stacks of functions == */

static int path_of_stack(struct report_dataset *dataset, const struct report_stack *stack,
                         uint32_t *path)
{
    int result = 0;
    *path = 0;
    for (size_t i = stack->frames.count; i-- > 0 && !result;) {
        const uint32_t function = report_dataset_frame_function(dataset, stack->frames.items[i]);
        result =
            function ? model_paths_child(&dataset->paths, *path, function, path) : SPROF_EFORMAT;
    }
    return result;
}

uint32_t *report_export_paths(struct report_dataset *dataset)
{
    uint32_t *paths = calloc(dataset->nodes.count + 1, sizeof *paths);
    struct report_stack stack = {0};
    int result = paths ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->costs.count && !result; i++) {
        const uint32_t node = dataset->costs.items[i].node;
        if (paths[node])
            continue;
        result = report_dataset_stack(dataset, node, &stack);
        if (!result)
            result = path_of_stack(dataset, &stack, &paths[node]);
    }
    sprof_vec_release(&stack.frames);
    if (!result)
        return paths;
    free(paths);
    return NULL;
}

int report_export_chain(const struct report_dataset *dataset, uint32_t path,
                        struct export_chain *chain)
{
    const struct model_path *items = dataset->paths.items.items;
    const size_t depth = path ? items[path - 1].depth : 0;
    if (sprof_vec_reserve(&chain->functions, depth))
        return SPROF_ENOMEM;
    chain->functions.count = depth;
    for (size_t i = depth; i-- > 0; path = items[path - 1].parent)
        chain->functions.items[i] = items[path - 1].function;
    return 0;
}

/* == Samples == */

struct collecting {
    const struct report_dataset *dataset;
    const uint32_t *paths;
    struct export_threads *threads;
};

static int take_sample(void *context, const struct report_sample *sample)
{
    struct collecting *collecting = context;
    const struct store_sample *row = &sample->row->sample;
    if (!row->count || row->event_id != collecting->dataset->event.id)
        return 0;
    const uint32_t node = report_dataset_number(&collecting->dataset->node_numbers, row->node_id);
    const struct export_sample own = {row->time_ns, row->weight, row->count,
                                      collecting->paths[node]};
    return sprof_vec_push(&collecting->threads->items[sample->thread_number - 1].samples, own);
}

int report_export_threads(const struct report_content *content, struct export_threads *threads,
                          struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    uint32_t *paths = report_export_paths(dataset);
    *threads = (struct export_threads){
        .items = calloc(dataset->threads.count + 1, sizeof *threads->items),
        .count = dataset->threads.count,
    };
    struct collecting collecting = {dataset, paths, threads};
    const int result = paths && threads->items
                           ? report_each_sample(content, take_sample, &collecting, error)
                           : SPROF_ENOMEM;
    free(paths);
    return result;
}

void report_export_threads_release(struct export_threads *threads)
{
    for (size_t i = 0; threads->items && i < threads->count; i++)
        sprof_vec_release(&threads->items[i].samples);
    free(threads->items);
    *threads = (struct export_threads){0};
}

/* == Texts == */

int report_export_thread_name(const struct report_dataset *dataset, uint32_t thread,
                              struct sprof_str *name)
{
    const struct report_thread *item = &dataset->threads.items[thread - 1];
    const char *process = dataset->processes.items[item->process - 1].name;
    sprof_str_clear(name);
    return sprof_str_appendf(name, "%s %d",
                             item->name ? item->name
                             : process  ? process
                                        : "thread",
                             item->tid);
}

const char *report_export_title(const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    return run->command ? run->command : run->targets ? run->targets : "recording";
}

void report_export_xml(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default: fputc(*text, out);
        }
}
