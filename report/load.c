/* From the database to a profile. */
#include "report/error_text.h"
#include "report/profile.h"
#include "report/select.h"
#include "report/utf8_text.h"

#include <string.h>

struct path_row {
    uint32_t parent; /* index + 1; 0: a root */
    uint32_t function;
    struct model_costs costs;
};

struct loading {
    struct profile *profile;
    const struct model_kind_rules *rules;
    struct sprof_map module_numbers, function_numbers; /* database id → number */
    struct sprof_map path_indexes;                     /* … → index + 1 */
    SPROF_VEC(struct path_row) rows;
    double sum_of_weights, sum_of_squares;
};

void profile_release(struct profile *profile)
{
    model_paths_release(&profile->paths);
    sprof_vec_release(&profile->modules);
    sprof_vec_release(&profile->functions);
    sprof_vec_release(&profile->facts);
    sprof_arena_release(&profile->arena);
}

uint32_t profile_add_function(struct profile *profile, struct profile_function function,
                              struct model_function facts)
{
    if (sprof_vec_push(&profile->functions, function) || sprof_vec_push(&profile->facts, facts))
        return 0;
    return (uint32_t)profile->functions.count;
}

static uint32_t number_of(const struct sprof_map *map, uint32_t id)
{
    const uint64_t *number = id ? sprof_map_get(map, id) : NULL;
    return number ? (uint32_t)*number : 0;
}

/* As stored, unless the reader wants it otherwise. */
static enum model_kind kind_of(const struct loading *loading, const struct store_module *row)
{
    if (!loading->rules->count || row->kind == MODEL_KIND_NONE || !row->path)
        return row->kind;
    return model_kind_of(loading->rules, row->path, row->main_executable,
                         row->kind == MODEL_KIND_KERNEL);
}

static int add_module(void *context, const struct store_module *row)
{
    struct loading *loading = context;
    struct profile *profile = loading->profile;
    const struct profile_module module = {
        .name = report_utf8_copy(&profile->arena, row->name ? row->name : ""),
        .path = report_utf8_copy(&profile->arena, row->path ? row->path : ""),
        .kind = kind_of(loading, row),
    };
    if (!module.name || !module.path || sprof_vec_push(&profile->modules, module))
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->module_numbers, row->id, profile->modules.count);
}

static int add_function(void *context, const struct store_function *row)
{
    struct loading *loading = context;
    struct profile *profile = loading->profile;
    const uint32_t module = number_of(&loading->module_numbers, row->module_id);
    if (!module)
        return SPROF_EFORMAT;
    const struct profile_function function = {
        .name = report_utf8_copy(&profile->arena, row->name ? row->name : "?"),
        .linkage_name =
            row->linkage_name ? report_utf8_copy(&profile->arena, row->linkage_name) : NULL,
    };
    const struct model_function facts = {module, profile->modules.items[module - 1].kind,
                                         row->startup};
    if (!function.name || (row->linkage_name && !function.linkage_name))
        return SPROF_ENOMEM;
    const uint32_t number = profile_add_function(profile, function, facts);
    if (!number)
        return SPROF_ENOMEM;
    return sprof_map_put(&loading->function_numbers, row->id, number);
}

static int add_path(void *context, const struct model_path *row)
{
    struct loading *loading = context;
    const struct path_row path = {
        .parent = number_of(&loading->path_indexes, row->parent),
        .function = number_of(&loading->function_numbers, row->function),
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
    if (row->event_id != loading->profile->event.id)
        return 0;
    const uint32_t path = number_of(&loading->path_indexes, row->path_id);
    if (!path)
        return SPROF_EFORMAT;
    struct model_cost *cost = &loading->rows.items[path - 1].costs.exclusive;
    cost->samples += row->cost.samples;
    cost->weight += row->cost.weight;
    if (row->cost.samples) {
        loading->sum_of_weights += (double)row->cost.weight;
        loading->sum_of_squares += row->sum_squares;
    } else if (row->cost.weight) {
        loading->profile->weighted = true; /* CPU time that has no samples counts too */
    }
    return 0;
}

/* Leaves out the paths that this run and filter never came to. */
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
    struct model_paths *tree = &loading->profile->paths;
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

static bool is_pseudo(const struct profile *profile, size_t index, const char *name)
{
    return profile->facts.items[index].kind == MODEL_KIND_NONE &&
           !strcmp(profile->functions.items[index].name, name);
}

static void find_pseudo_functions(struct profile *profile)
{
    for (size_t i = 0; i < profile->functions.count; i++) {
        if (is_pseudo(profile, i, "[outside the application]"))
            profile->outside_function = (uint32_t)i + 1;
        if (is_pseudo(profile, i, "[not sampled]"))
            profile->not_sampled_function = (uint32_t)i + 1;
    }
}

static int load_rows(struct loading *loading, struct store *store,
                     const struct report_options *options, struct sprof_error *error)
{
    struct profile *profile = loading->profile;
    const struct store_filter filter = {profile->run.id, options->thread, options->process};
    int result = store_each_module(store, add_module, loading, error);
    if (!result)
        result = store_each_function(store, add_function, loading, error);
    if (!result)
        result = store_each_path(store, add_path, loading, error);
    if (!result)
        result = store_each_node_cost(store, &filter, add_cost, loading, error);
    if (!result)
        result = build_tree(loading);
    return result;
}

static void choose_numbers(struct profile *profile, const struct loading *loading)
{
    profile->weighted = profile->weighted || profile->event.varying;
    profile_total(profile);
    const double samples = (double)profile->total.samples;
    const double effective =
        model_effective_samples(loading->sum_of_weights, loading->sum_of_squares);
    profile->effective_samples =
        profile->event.varying && effective < samples ? effective : samples;
}

static struct model_cost cost_of_function(const struct profile *profile, uint32_t function)
{
    struct model_cost cost = {0};
    for (size_t i = 0; function && i < profile->paths.items.count; i++) {
        const struct model_path *path = &profile->paths.items.items[i];
        if (path->function == function) {
            cost.samples += path->costs.exclusive.samples;
            cost.weight += path->costs.exclusive.weight;
        }
    }
    return cost;
}

void profile_total(struct profile *profile)
{
    profile->total = model_paths_total(&profile->paths);
    profile->not_sampled = cost_of_function(profile, profile->not_sampled_function);
    profile->outside = cost_of_function(profile, profile->outside_function);
}

int profile_load(struct profile *profile, struct store *store, const struct report_options *options,
                 struct sprof_error *error)
{
    *profile = (struct profile){0};
    struct loading loading = {.profile = profile, .rules = &options->rules};
    int result = profile_select(profile, store, options, error);
    if (!result)
        result = load_rows(&loading, store, options, error);
    if (!result) {
        find_pseudo_functions(profile);
        choose_numbers(profile, &loading);
        result = profile_view(profile, options, error);
    }
    sprof_map_release(&loading.module_numbers);
    sprof_map_release(&loading.function_numbers);
    sprof_map_release(&loading.path_indexes);
    sprof_vec_release(&loading.rows);
    return report_error_code(result, error);
}
