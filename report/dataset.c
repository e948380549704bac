/* Reads the selected part of a recording into a dataset. */
#include "report/dataset.h"

#include "report/dataset_parts.h"
#include "report/error_text.h"
#include "report/utf8_text.h"

#include <string.h>

struct path_row {
    uint32_t parent; /* index + 1; 0: a root */
    uint32_t function;
    struct model_costs costs;
};

struct loading {
    struct report_dataset *dataset;
    const struct model_kind_rules *rules;
    unsigned parts;
    struct sprof_map modules, frames; /* database id → number */
    struct sprof_map path_indexes;               /* … → index + 1 */
    SPROF_VEC(struct path_row) rows;
    double sum_of_weights, sum_of_squares;
};

void report_dataset_release(struct report_dataset *dataset)
{
    model_paths_release(&dataset->paths);
    sprof_vec_release(&dataset->events);
    sprof_vec_release(&dataset->processes);
    sprof_vec_release(&dataset->threads);
    sprof_vec_release(&dataset->modules);
    sprof_vec_release(&dataset->functions);
    sprof_vec_release(&dataset->facts);
    sprof_vec_release(&dataset->frames);
    sprof_vec_release(&dataset->nodes);
    sprof_vec_release(&dataset->mappings);
    sprof_vec_release(&dataset->costs);
    sprof_map_release(&dataset->process_numbers);
    sprof_map_release(&dataset->thread_numbers);
    sprof_map_release(&dataset->node_numbers);
    sprof_map_release(&dataset->function_numbers);
    sprof_arena_release(&dataset->arena);
}

uint32_t report_dataset_add_function(struct report_dataset *dataset,
                                     struct report_function function, struct model_function facts)
{
    if (sprof_vec_push(&dataset->functions, function) || sprof_vec_push(&dataset->facts, facts))
        return 0;
    return (uint32_t)dataset->functions.count;
}

/* A clean copy in the arena, NULL for NULL; sets *failed when out of memory. Source files are few
 * and rows are many: `last` is reused where it is the same text. */
static const char *copy_text(struct report_dataset *dataset, const char *text, const char *last,
                             bool *failed)
{
    if (!text || (last && !strcmp(last, text)))
        return text ? last : NULL;
    const char *copy = report_utf8_copy(&dataset->arena, text);
    *failed = *failed || !copy;
    return copy;
}

/* == Modules and functions == */

static const char *hexadecimal(struct report_dataset *dataset, struct sprof_bytes bytes,
                               bool *failed)
{
    static const char digits[] = "0123456789abcdef";
    if (!bytes.size)
        return NULL;
    char *text = sprof_arena_alloc(&dataset->arena, 2 * bytes.size + 1);
    *failed = *failed || !text;
    for (size_t i = 0; text && i < bytes.size; i++) {
        text[2 * i] = digits[bytes.data[i] >> 4];
        text[2 * i + 1] = digits[bytes.data[i] & 15];
    }
    return text;
}

static int add_module(void *context, const struct store_module *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const bool as_stored = !loading->rules->count || row->kind == MODEL_KIND_NONE || !row->path;
    bool failed = false;
    const struct report_module module = {
        .name = copy_text(dataset, row->name ? row->name : "", NULL, &failed),
        .path = copy_text(dataset, row->path ? row->path : "", NULL, &failed),
        .kind = as_stored ? row->kind
                          : model_kind_of(loading->rules, row->path, row->main_executable,
                                          row->kind == MODEL_KIND_KERNEL),
        .key = row->key,
        .build_id = hexadecimal(dataset, row->build_id, &failed),
    };
    if (failed || sprof_vec_push(&dataset->modules, module))
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->modules, row->id, dataset->modules.count);
}

static int add_function(void *context, const struct store_function *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const uint32_t module = report_dataset_number(&loading->modules, row->module_id);
    if (!module)
        return SPROF_EFORMAT;
    const size_t count = dataset->functions.count;
    bool failed = false;
    const struct report_function function = {
        .name = copy_text(dataset, row->name ? row->name : "?", NULL, &failed),
        .linkage_name = copy_text(dataset, row->linkage_name, NULL, &failed),
        .file = copy_text(dataset, row->file,
                          count ? dataset->functions.items[count - 1].file : NULL, &failed),
        .line = row->line,
        .key = row->key,
        .start = row->start,
        .size = row->size,
        .named = row->named,
    };
    const struct model_function facts = {module, dataset->modules.items[module - 1].kind,
                                         row->startup};
    const uint32_t number = failed ? 0 : report_dataset_add_function(dataset, function, facts);
    return number ? sprof_map_put(&dataset->function_numbers, row->id, number) : SPROF_ENOMEM;
}

/* == Frames, nodes, mappings == */

static int add_frame(void *context, const struct store_frame *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const size_t count = dataset->frames.count;
    bool failed = false;
    const struct report_frame frame = {
        .module = report_dataset_number(&loading->modules, row->module_id),
        .function = report_dataset_number(&dataset->function_numbers, row->function_id),
        .outer = row->inline_parent_id, /* a database id until all are read */
        .inline_depth = row->inline_depth,
        .file = copy_text(dataset, row->file, count ? dataset->frames.items[count - 1].file : NULL,
                          &failed),
        .line = row->line,
        .file_offset = row->file_offset,
        .key = row->key,
    };
    if (!frame.module)
        return SPROF_EFORMAT;
    if (failed || sprof_vec_push(&dataset->frames, frame))
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->frames, row->id, dataset->frames.count);
}

/* Ids become numbers. Depths must grow outwards, so that a damaged file cannot make a circle. */
static void link_inlined(struct loading *loading)
{
    struct report_frame *frames = loading->dataset->frames.items;
    for (size_t i = 0; i < loading->dataset->frames.count; i++) {
        const uint32_t outer = report_dataset_number(&loading->frames, frames[i].outer);
        const bool grows = outer && frames[outer - 1].inline_depth > frames[i].inline_depth;
        frames[i].outer = grows ? outer : 0;
    }
}

static int add_node(void *context, const struct store_node *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const struct report_node node = {
        .parent = report_dataset_number(&dataset->node_numbers, row->parent_id),
        .frame = report_dataset_number(&loading->frames, row->frame_id),
    };
    if (!node.frame || (row->parent_id && !node.parent))
        return SPROF_EFORMAT;
    if (sprof_vec_push(&dataset->nodes, node))
        return SPROF_ENOMEM;
    return sprof_map_put(&dataset->node_numbers, row->id, dataset->nodes.count);
}

static int add_mapping(void *context, const struct store_mapping *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const struct report_mapping mapping = {
        .process = report_dataset_number(&dataset->process_numbers, row->process_id),
        .module = report_dataset_number(&loading->modules, row->module_id),
        .start = row->start,
        .size = row->end - row->start,
        .file_offset = row->file_offset,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
    };
    /* Of a process that is missing, as of a module that is: nothing can refer to it. */
    if (!mapping.module || (row->process_id && !mapping.process))
        return 0;
    return sprof_vec_push(&dataset->mappings, mapping);
}

static int load_stacks(struct loading *loading, struct store *store, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    int result = store_each_frame(store, add_frame, loading, error);
    if (!result) {
        link_inlined(loading);
        result = store_each_node(store, add_node, loading, error);
    }
    if (!result)
        result = store_each_mapping(store, dataset->run.id, add_mapping, loading, error);
    report_dataset_sort_mappings(dataset);
    return result;
}

/* == Paths and costs == */

static int add_path(void *context, const struct model_path *row)
{
    struct loading *loading = context;
    const struct path_row path = {
        .parent = report_dataset_number(&loading->path_indexes, row->parent),
        .function = report_dataset_number(&loading->dataset->function_numbers, row->function),
    };
    if (!path.function || (row->parent && !path.parent))
        return SPROF_EFORMAT;
    if (sprof_vec_push(&loading->rows, path))
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->path_indexes, row->id, loading->rows.count);
}

static int add_cost(void *context, const struct store_node_cost *row)
{
    struct loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    if (row->event_id != dataset->event.id)
        return 0;
    const uint32_t thread = report_dataset_number(&dataset->thread_numbers, row->thread_id);
    const uint32_t path = report_dataset_number(&loading->path_indexes, row->path_id);
    if (!path || !thread)
        return SPROF_EFORMAT;
    if (!dataset->threads.items[thread - 1].selected)
        return 0;
    struct model_cost *cost = &loading->rows.items[path - 1].costs.exclusive;
    cost->samples += row->cost.samples;
    cost->weight += row->cost.weight;
    if (row->cost.samples) {
        loading->sum_of_weights += (double)row->cost.weight;
        loading->sum_of_squares += row->sum_squares;
    } else if (row->cost.weight) {
        dataset->weighted = true; /* CPU time that has no samples counts too */
    }
    if (!(loading->parts & REPORT_STACKS))
        return 0;
    const struct report_cost own = {
        .node = report_dataset_number(&dataset->node_numbers, row->node_id),
        .thread = thread,
        .cost = row->cost,
    };
    return own.node ? sprof_vec_push(&dataset->costs, own) : SPROF_EFORMAT;
}

/* Leaves out the paths that the selection never came to. */
static int build_tree(struct loading *loading)
{
    struct path_row *rows = loading->rows.items;
    uint32_t *paths = calloc(loading->rows.count + 1, sizeof *paths);
    if (!paths)
        return SPROF_ENOMEM;
    for (size_t i = loading->rows.count; i-- > 0;) {
        struct model_cost *sum = &rows[i].costs.inclusive;
        sum->samples += rows[i].costs.exclusive.samples;
        sum->weight += rows[i].costs.exclusive.weight;
        if (rows[i].parent) {
            rows[rows[i].parent - 1].costs.inclusive.samples += sum->samples;
            rows[rows[i].parent - 1].costs.inclusive.weight += sum->weight;
        }
    }
    int result = 0;
    struct model_paths *tree = &loading->dataset->paths;
    for (size_t i = 0; i < loading->rows.count && !result; i++) {
        if (!rows[i].costs.inclusive.samples && !rows[i].costs.inclusive.weight)
            continue;
        result = model_paths_child(tree, paths[rows[i].parent], rows[i].function, &paths[i + 1]);
        if (!result)
            model_paths_add(tree, paths[i + 1], rows[i].costs.exclusive);
    }
    free(paths);
    model_paths_sum(tree);
    return result;
}

static uint32_t find_pseudo_function(const struct report_dataset *dataset, const char *name)
{
    for (size_t i = 0; i < dataset->functions.count; i++)
        if (dataset->facts.items[i].kind == MODEL_KIND_NONE &&
            !strcmp(dataset->functions.items[i].name, name))
            return (uint32_t)i + 1;
    return 0;
}

static int load_rows(struct loading *loading, struct store *store, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    const struct store_filter filter = {.run_id = dataset->run.id};
    int result = store_each_module(store, add_module, loading, error);
    if (!result)
        result = store_each_function(store, add_function, loading, error);
    if (!result && loading->parts & REPORT_STACKS)
        result = load_stacks(loading, store, error);
    if (!result)
        result = store_each_path(store, add_path, loading, error);
    if (!result)
        result = store_each_node_cost(store, &filter, add_cost, loading, error);
    return result ? result : build_tree(loading);
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
    dataset->not_sampled = cost_of_function(dataset, dataset->not_sampled_function);
    dataset->outside = cost_of_function(dataset, dataset->outside_function);
}

int report_dataset_load(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, unsigned parts,
                        struct sprof_error *error)
{
    *dataset = (struct report_dataset){0};
    struct loading loading = {.dataset = dataset, .rules = &selection->rules, .parts = parts};
    int result = report_dataset_select(dataset, store, selection, error);
    if (!result)
        result = load_rows(&loading, store, error);
    if (!result) {
        const double effective =
            model_effective_samples(loading.sum_of_weights, loading.sum_of_squares);
        dataset->outside_function = find_pseudo_function(dataset, MODEL_OUTSIDE);
        dataset->not_sampled_function = find_pseudo_function(dataset, MODEL_NOT_SAMPLED);
        dataset->weighted = dataset->weighted || dataset->event.varying;
        report_dataset_total(dataset);
        dataset->effective_samples = (double)dataset->total.samples;
        if (dataset->event.varying && effective < dataset->effective_samples)
            dataset->effective_samples = effective;
        result = report_dataset_read_mode(dataset, selection, error);
    }
    sprof_map_release(&loading.modules);
        sprof_map_release(&loading.frames);
    sprof_map_release(&loading.path_indexes);
    sprof_vec_release(&loading.rows);
    return report_error_code(result, error);
}
