/* Reads the selected part of a recording into a dataset. */
#include "report/dataset.h"

#include "base/command.h"
#include "report/dataset_parts.h"
#include "report/error_text.h"
#include "report/split_functions.h"
#include "report/utf8_text.h"

#include <string.h>
#include <unistd.h>

void report_dataset_release(struct report_dataset *dataset)
{
    model_paths_release(&dataset->paths);
    sprof_map_release(&dataset->fields.of_samples);
    sprof_vec_release(&dataset->runs);
    sprof_vec_release(&dataset->source_users);
    sprof_vec_release(&dataset->events);
    sprof_vec_release(&dataset->path_inlined);
    sprof_vec_release(&dataset->chosen.ranges);
    sprof_vec_release(&dataset->chosen.during);
    free(dataset->chosen.function_filters);
    sprof_vec_release(&dataset->counted.totals);
    sprof_vec_release(&dataset->counted.outside);
    sprof_vec_release(&dataset->counted.uses);
    sprof_vec_release(&dataset->phases);
    sprof_vec_release(&dataset->processes);
    sprof_vec_release(&dataset->threads);
    sprof_vec_release(&dataset->modules);
    sprof_vec_release(&dataset->functions);
    sprof_vec_release(&dataset->facts);
    sprof_vec_release(&dataset->frames);
    sprof_vec_release(&dataset->nodes);
    sprof_vec_release(&dataset->mappings);
    sprof_vec_release(&dataset->costs);
    sprof_vec_release(&dataset->packed.items);
    free(dataset->node_stays);
    sprof_vec_release(&dataset->line_costs);
    sprof_vec_release(&dataset->kept.rules);
    sprof_vec_release(&dataset->kept.calls);
    sprof_vec_release(&dataset->idle.places);
    sprof_vec_release(&dataset->kept.values);
    sprof_vec_release(&dataset->kept.requests);
    sprof_vec_release(&dataset->wakes);
    sprof_vec_release(&dataset->fields.values);
    report_row_numbers_release(&dataset->numbers.processes);
    report_row_numbers_release(&dataset->numbers.threads);
    report_row_numbers_release(&dataset->numbers.nodes);
    report_row_numbers_release(&dataset->numbers.functions);
    report_row_numbers_release(&dataset->numbers.events);
    sprof_map_release(&dataset->file_bytes);
    sprof_arena_release(&dataset->arena);
}

const char *report_dataset_copy_path(struct report_dataset *dataset, const char *path)
{
    const char *copy = report_utf8_copy(&dataset->arena, path);
    if (!copy || !strcmp(copy, path))
        return copy;
    uint64_t *known = sprof_map_at(&dataset->file_bytes, sprof_hash_text(copy));
    const char *bytes = known ? sprof_arena_text(&dataset->arena, path) : NULL;
    if (!bytes)
        return NULL;
    const bool other = *known && strcmp((const char *)(uintptr_t)*known, path) != 0;
    *known = (uintptr_t)(other ? copy : bytes);
    return copy;
}

const char *report_dataset_file_bytes(const struct report_dataset *dataset, const char *path)
{
    const uint64_t *known = sprof_map_get(&dataset->file_bytes, sprof_hash_text(path));
    return known ? (const char *)(uintptr_t)*known : path;
}

/* A clean copy in the arena, NULL for NULL; sets *failed when out of memory. */
static const char *copy_text(struct report_dataset *dataset, const char *text, bool *failed)
{
    const char *copy = text ? report_utf8_copy(&dataset->arena, text) : NULL;
    *failed = *failed || (text && !copy);
    return copy;
}

/* The same of a source file. These are few and rows are many: `last` is reused where it is the same
 * text. */
static const char *copy_file(struct report_dataset *dataset, const char *text, const char *last,
                             bool *failed)
{
    if (!text || (last && !strcmp(last, text)))
        return text ? last : NULL;
    const char *copy = report_dataset_copy_path(dataset, text);
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

/* Runs that were appended have modules of their own, a merged recording has them once: they are one
 * where all of their row is the same, those of one process and of several kernels apart. */
static uint64_t module_content(const struct report_loading *loading, const struct store_module *row)
{
    const bool shared =
        row->key && !row->process_id && (row->kind != MODEL_KIND_KERNEL || loading->one_boot);
    if (!shared)
        return sprof_hash_pair(0, loading->dataset->modules.count);
    uint64_t content = sprof_hash_pair(sprof_hash_pair(1, row->key), row->kind);
    content = sprof_hash_pair(content, sprof_hash_text(row->path ? row->path : ""));
    content = sprof_hash_pair(content, sprof_hash_text(row->name ? row->name : ""));
    content = sprof_hash_pair(content, sprof_hash_bytes(row->build_id.data, row->build_id.size));
    return sprof_hash_pair(content, row->main_executable);
}

static int add_module(void *context, const struct store_module *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const uint64_t content = module_content(loading, row);
    const uint64_t *known = sprof_map_get(&loading->module_contents, content);
    if (known)
        return report_row_numbers_put(&loading->modules, row->id, (uint32_t)*known);
    const bool as_stored = !loading->rules.count || row->kind == MODEL_KIND_NONE || !row->path;
    bool failed = false;
    const struct report_module module = {
        .name = copy_text(dataset, row->name ? row->name : "", &failed),
        .path = copy_text(dataset, row->path ? row->path : "", &failed),
        .path_bytes = sprof_arena_text(&dataset->arena, row->path ? row->path : ""),
        .kind = as_stored ? row->kind
                          : model_kind_of(&loading->rules, row->path, row->main_executable,
                                          row->kind == MODEL_KIND_KERNEL),
        .main_executable = row->main_executable,
        .key = row->key,
        .build_id = hexadecimal(dataset, row->build_id, &failed),
    };
    if (failed || !module.path_bytes || sprof_vec_push(&dataset->modules, module) ||
        sprof_map_put(&loading->module_contents, content, dataset->modules.count))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&loading->modules, row->id, dataset->modules.count);
}

static int add_function(void *context, const struct store_function *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const uint32_t module = report_dataset_number(&loading->modules, row->module_id);
    if (!module)
        return SPROF_EFORMAT;
    const size_t count = dataset->functions.count;
    bool failed = false;
    const struct report_function function = {
        .name = copy_text(dataset, row->name ? row->name : "?", &failed),
        .linkage_name = copy_text(dataset, row->linkage_name, &failed),
        .file = copy_file(dataset, row->file,
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
    return number ? report_row_numbers_put(&dataset->numbers.functions, row->id, number)
                  : SPROF_ENOMEM;
}

/* == Frames, nodes, mappings == */

static int add_frame(void *context, const struct store_frame *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const size_t count = dataset->frames.count;
    bool failed = false;
    const struct report_frame frame = {
        .module = report_dataset_number(&loading->modules, row->module_id),
        .function = report_dataset_function_of(dataset, row->function_id),
        .part = report_dataset_number(&dataset->numbers.functions, row->function_id),
        .outer = row->inline_parent_id, /* a database id until all are read */
        .inline_depth = row->inline_depth,
        .file = copy_file(dataset, row->file, count ? dataset->frames.items[count - 1].file : NULL,
                          &failed),
        .line = row->line,
        .file_offset = row->file_offset,
        .key = row->key,
    };
    if (!frame.module)
        return SPROF_EFORMAT;
    if (failed || sprof_vec_push(&dataset->frames, frame))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&loading->frames, row->id, dataset->frames.count);
}

/* Ids become numbers. Depths must grow outwards, so that a damaged file cannot make a circle. */
static void link_inlined(struct report_loading *loading)
{
    struct report_frame *frames = loading->dataset->frames.items;
    for (size_t i = 0; i < loading->dataset->frames.count; i++) {
        const uint32_t outer = report_dataset_number(&loading->frames, frames[i].outer);
        const bool grows = outer && frames[outer - 1].inline_depth > frames[i].inline_depth;
        frames[i].outer = grows ? outer : 0;
    }
}

/* The frames of a stack and the paths outwards from its node's go together, as far as the functions
 * are the same: a recording in another mode has cut some away. */
static void mark_inlined(struct report_loading *loading, uint32_t node, uint32_t path)
{
    const struct report_dataset *dataset = loading->dataset;
    for (; node && path && !loading->marked.items[node - 1];
         node = dataset->nodes.items[node - 1].parent) {
        loading->marked.items[node - 1] = true;
        uint32_t frame = report_dataset_node_frame(dataset, node);
        while (frame && path) {
            const struct report_frame *item = &dataset->frames.items[frame - 1];
            struct report_path_row *row = &loading->rows.items[path - 1];
            if (item->function != row->function)
                return;
            row->inlined = row->inlined || item->outer;
            row->called = row->called || !item->outer;
            frame = item->outer;
            path = row->parent;
        }
    }
}

static int add_node(void *context, const struct store_node *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const struct report_node node = {
        .parent = report_dataset_number(&dataset->numbers.nodes, row->parent_id),
        .frame = report_dataset_number(&loading->frames, row->frame_id),
    };
    if (!node.frame || (row->parent_id && !node.parent))
        return SPROF_EFORMAT;
    if (sprof_vec_push(&dataset->nodes, node) || sprof_vec_push(&loading->node_paths, 0) ||
        sprof_vec_push(&loading->marked, false))
        return SPROF_ENOMEM;
    return report_row_numbers_put(&dataset->numbers.nodes, row->id, dataset->nodes.count);
}

static int add_node_path(void *context, const struct store_node_path *row)
{
    struct report_loading *loading = context;
    const uint32_t node = report_dataset_number(&loading->dataset->numbers.nodes, row->node_id);
    const uint32_t path = report_dataset_number(&loading->paths, row->path_id);
    if (!node)
        return SPROF_EFORMAT;
    loading->node_paths.items[node - 1] = path;
    if (loading->dataset->parts & REPORT_INLINED)
        mark_inlined(loading, node, path);
    return 0;
}

static int add_mapping(void *context, const struct store_mapping *row)
{
    struct report_loading *loading = context;
    struct report_dataset *dataset = loading->dataset;
    const struct report_mapping mapping = {
        .process = report_dataset_number(&dataset->numbers.processes, row->process_id),
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

static int load_stacks(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    int result = store_each_frame(loading->store, add_frame, loading, error);
    const bool needs_nodes =
        loading->dataset->parts & (REPORT_STACKS | REPORT_INLINED) || loading->from_samples;
    if (!result) {
        link_inlined(loading);
        result = !needs_nodes ? 0 : store_each_node(loading->store, add_node, loading, error);
    }
    if (!result && needs_nodes)
        result = store_each_node_path(loading->store, add_node_path, loading, error);
    for (size_t i = 0;
         i < dataset->runs.count && !result && loading->dataset->parts & REPORT_STACKS; i++)
        result = store_each_mapping(loading->store, dataset->runs.items[i].id, add_mapping, loading,
                                    error);
    report_dataset_sort_mappings(dataset);
    return result;
}

/* == All of it == */

static uint32_t find_pseudo_function(const struct report_dataset *dataset, const char *name)
{
    for (size_t i = 0; i < dataset->functions.count; i++)
        if (dataset->facts.items[i].kind == MODEL_KIND_NONE &&
            !strcmp(dataset->functions.items[i].name, name))
            return (uint32_t)i + 1;
    return 0;
}

static bool all_of_one_boot(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->runs.count; i++) {
        const char *boot = dataset->runs.items[i].boot_id;
        if (!boot || strcmp(boot, dataset->runs.items[0].boot_id) != 0)
            return false;
    }
    return true;
}

static int load_rows(struct report_loading *loading, const struct report_selection *selection,
                     struct sprof_error *error)
{
    loading->one_boot = all_of_one_boot(loading->dataset);
    int result = report_dataset_choose_paths(loading, error);
    if (!result)
        result = store_each_module(loading->store, add_module, loading, error);
    if (!result)
        result =
            loading->few_paths && loading->only_run
                ? store_each_function_of_run(loading->store, loading->dataset->runs.items[0].id,
                                             add_function, loading, error)
                : store_each_function(loading->store, add_function, loading, error);
    /* A call of a part is no call of its function. */
    if (!result && !selection->parts_apart && !report_counts_calls(loading->dataset))
        result = report_split_functions_join(loading->dataset);
    if (!result)
        result = report_dataset_load_paths(loading, error);
    if (!result &&
        (loading->dataset->parts & (REPORT_STACKS | REPORT_INLINED | REPORT_LINE_COSTS) ||
         loading->from_samples))
        result = load_stacks(loading, error);
    return result ? result : report_dataset_load_costs(loading, error);
}

static int add_covered(void *context, int columns, char *const *values, char *const *names)
{
    struct report_dataset *dataset = context;
    (void)columns;
    (void)names;
    dataset->counted.coverage.functions += strtoull(values[0], NULL, 10);
    dataset->counted.coverage.called += strtoull(values[1], NULL, 10);
    return 0;
}

/* A run that looked for coverage alone has functions that were called, and no calls. */
static int find_covered(struct report_dataset *dataset, struct store *store,
                        struct sprof_error *error)
{
    char sql[120];
    int result = 0;
    if (!report_counts_calls(dataset) || dataset->all.samples)
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT count(*), count(first_ns) FROM coverage WHERE run_id = %llu",
                 (unsigned long long)dataset->runs.items[i].id);
        result = store_query(store, sql, add_covered, dataset, error);
    }
    return result;
}

static int add_less_measured(void *context, int columns, char *const *values, char *const *names)
{
    struct report_dataset *dataset = context;
    (void)names;
    if (columns && values[0])
        dataset->counted.less_measured += strtoull(values[0], NULL, 10);
    return 0;
}

/* What --max-overhead and --memory have cost: calls of such functions are not all there. */
static int find_less_measured(struct report_dataset *dataset, struct store *store,
                              struct sprof_error *error)
{
    char sql[200];
    int result = 0;
    if (!report_counts_calls(dataset))
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT count(DISTINCT function_id) FROM v_probe_event WHERE run_id = %u AND what "
                 "<> 'timed' AND cause IN ('governor', 'room')",
                 dataset->runs.items[i].id);
        result = store_query(store, sql, add_less_measured, dataset, error);
    }
    return result;
}

static void release_loading(struct report_loading *loading)
{
    report_row_numbers_release(&loading->modules);
    sprof_map_release(&loading->module_contents);
    report_row_numbers_release(&loading->frames);
    report_row_numbers_release(&loading->paths);
    sprof_vec_release(&loading->rows);
    sprof_vec_release(&loading->node_paths);
    sprof_vec_release(&loading->marked);
    report_row_numbers_release(&loading->time_events);
    sprof_map_release(&loading->idle);
    free(loading->idle_by_path);
}

int report_dataset_load_events(struct report_dataset *dataset, struct store *store,
                               const struct report_selection *selection, struct sprof_error *error)
{
    struct report_loading loading = {.dataset = dataset, .store = store};
    *dataset = (struct report_dataset){.parts = REPORT_ANY_MODE};
    const int result = report_dataset_select(&loading, selection, error);
    release_loading(&loading);
    return report_error_code(result, error);
}

static int load(struct report_dataset *dataset, struct store *store,
                const struct report_selection *selection, unsigned parts, struct sprof_error *error)
{
    const unsigned more = selection->no_inlined ? REPORT_STACKS : 0;
    char *const words[] = {(char *)(uintptr_t)store_path(store), NULL};
    *dataset = (struct report_dataset){.parts = more | (parts & ~(unsigned)REPORT_ONLY_RUN),
                                       .reading.no_inlined = selection->no_inlined,
                                       .fields.name = selection->field};
    struct report_loading loading = {
        .dataset = dataset, .store = store, .only_run = parts & REPORT_ONLY_RUN};
    if (!access(*words, F_OK)) /* what was fetched from a fleet is gone */
        dataset->recording = sprof_command_text(&dataset->arena, words);
    int result = report_dataset_select(&loading, selection, error);
    if (!result)
        result = load_rows(&loading, selection, error);
    if (!result) {
        const double effective =
            model_effective_samples(loading.sum_of_weights, loading.sum_of_squares);
        dataset->apart.outside_function = find_pseudo_function(dataset, MODEL_OUTSIDE);
        dataset->apart.not_sampled_function = find_pseudo_function(dataset, MODEL_NOT_SAMPLED);
        if (dataset->reading.no_inlined && !report_counts_calls(dataset))
            result = report_dataset_read_real_functions(dataset, report_dataset_next_costs);
        dataset->weighted = (dataset->weighted || dataset->event.varying) && !dataset->all_events;
        report_dataset_total(dataset);
        dataset->effective_samples = (double)dataset->total.samples;
        if (dataset->event.varying && effective < dataset->effective_samples)
            dataset->effective_samples = effective;
        if (!result)
            result = report_dataset_read_mode(dataset, selection, error);
    }
    if (!result && parts & REPORT_KEPT_CALLS)
        result = report_dataset_load_kept(dataset, store, error);
    if (!result && parts & REPORT_WAKES)
        result = report_dataset_load_wakes(dataset, store, report_dataset_takes_sample, error);
    if (!result)
        result = find_covered(dataset, store, error);
    if (!result)
        result = find_less_measured(dataset, store, error);
    if (!result)
        result = report_dataset_filter(dataset, selection, error);
    release_loading(&loading);
    return report_error_code(result, error);
}

int report_dataset_load(struct report_dataset *dataset, struct store *store,
                        const struct report_selection *selection, unsigned parts,
                        struct sprof_error *error)
{
    bool overlap = false;
    int result = load(dataset, store, selection, parts, error);
    const bool from_stacks = parts & REPORT_LINE_COSTS && !(dataset->parts & REPORT_LINE_COSTS);
    if (!result && from_stacks)
        return report_error_code(report_dataset_add_up_lines(dataset), error);
    if (!result && parts & REPORT_LINE_COSTS)
        result = report_error_code(report_dataset_lines_overlap(dataset, &overlap), error);
    if (result || !overlap)
        return result;
    report_dataset_release(dataset);
    parts = (parts & ~(unsigned)REPORT_LINE_COSTS) | REPORT_STACKS;
    result = load(dataset, store, selection, parts, error);
    return result ? result : report_error_code(report_dataset_add_up_lines(dataset), error);
}
