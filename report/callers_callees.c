/* The tables about one function: the ways into it, and what lies below it. */
#include "names/names.h"
#include "report/function_search.h"
#include "report/name_cut.h"
#include "report/tree.h"
#include "report/utf8_text.h"

int report_paths_unite(const struct model_paths *paths, const struct report_function_set *set,
                       struct model_paths *united)
{
    struct sprof_map members = {0};
    uint32_t *moved = calloc(paths->items.count + 1, sizeof *moved);
    int result = moved ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < set->count && !result; i++)
        result = sprof_map_put(&members, set->items[i], 1);
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint32_t function =
            sprof_map_get(&members, path->function) ? set->items[0] : path->function;
        result = model_paths_child(united, moved[path->parent], function, &moved[path->id]);
        if (!result)
            model_paths_add(united, moved[path->id], path->costs.exclusive);
    }
    free(moved);
    sprof_map_release(&members);
    if (!result)
        model_paths_sum(united);
    return result;
}

/* Adds a cost to the way of a path that ends in the function: its callers, nearest first. */
static int add_way(const struct model_paths *paths, uint32_t id, struct model_cost cost,
                   struct model_paths *out)
{
    uint32_t at = 0;
    int result = 0;
    for (; id && !result; id = paths->items.items[id - 1].parent)
        result = model_paths_child(out, at, paths->items.items[id - 1].function, &at);
    if (!result)
        model_paths_add(out, at, cost);
    return result;
}

/* The ways into a function turned round: the function is the root, and each path has its callers
 * below. `samples`: they are counted, too, not only weight. Without sums. */
static int turn_round(const struct model_paths *paths, uint32_t function, bool samples,
                      struct model_paths *out)
{
    struct model_paths ways;
    int result = model_paths_callers(paths, function, &ways);
    *out = (struct model_paths){0};
    if (result)
        return result;
    for (size_t i = 0; i < ways.items.count && !result; i++) {
        const struct model_path *path = &ways.items.items[i];
        const struct model_cost cost = {samples ? path->costs.exclusive.samples : 0,
                                        path->costs.exclusive.weight};
        if (cost.samples || cost.weight)
            result = add_way(&ways, path->id, cost, out);
    }
    model_paths_release(&ways);
    return result;
}

/* The outermost occurrence of a function at or above each of its paths; [id], 0 elsewhere. */
static uint32_t *find_outermost(const struct model_paths *paths, uint32_t function)
{
    uint32_t *outermost = calloc(paths->items.count + 1, sizeof *outermost);
    for (size_t i = 0; outermost && i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        outermost[path->id] = outermost[path->parent];
        if (!outermost[path->id] && path->function == function)
            outermost[path->id] = path->id;
    }
    return outermost;
}

/* The ways into a function with what it costs itself when it is called so. Summed. */
static int own_costs(const struct model_paths *paths, uint32_t function, struct model_paths *own)
{
    uint32_t *outermost = find_outermost(paths, function);
    int result = outermost ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        const struct model_cost cost = path->costs.exclusive;
        if (path->function == function && (cost.samples || cost.weight))
            result = add_way(paths, outermost[path->id], cost, own);
    }
    free(outermost);
    model_paths_sum(own);
    return result;
}

/* Makes the exclusive cost of each way that of the function when it is called so: `out` is summed,
 * and adds up no more. `calls`: every call is one of the function itself. */
static int put_own_costs(const struct model_paths *paths, uint32_t function, bool calls,
                         struct model_paths *out)
{
    struct model_paths own = {0};
    int result = own_costs(paths, function, &own);
    uint32_t *moved = calloc(own.items.count + 1, sizeof *moved);
    result = moved ? result : SPROF_ENOMEM;
    for (size_t i = 0; i < out->items.count; i++) {
        struct model_costs *costs = &out->items.items[i].costs;
        costs->exclusive = (struct model_cost){.samples = calls ? costs->inclusive.samples : 0};
    }
    for (size_t i = 0; i < own.items.count && !result; i++) {
        const struct model_path *path = &own.items.items[i];
        const uint32_t at = model_paths_find(out, moved[path->parent], path->function);
        if (!at)
            continue;
        moved[path->id] = at;
        struct model_cost *cost = &out->items.items[at - 1].costs.exclusive;
        cost->samples = calls ? cost->samples : path->costs.inclusive.samples;
        cost->weight = path->costs.inclusive.weight;
    }
    free(moved);
    model_paths_release(&own);
    return result;
}

static int callers_of(const struct model_paths *paths, uint32_t function, struct model_paths *out)
{
    const int result = turn_round(paths, function, true, out);
    model_paths_sum(out);
    return result ? result : put_own_costs(paths, function, false, out);
}

/* The same of calls: how often each caller calls the function, also from within itself, and the
 * time of its outermost calls. */
static int calls_of(const struct model_paths *paths, uint32_t function, struct model_paths *out)
{
    int result = turn_round(paths, function, false, out);
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        const struct model_cost calls = {.samples = path->costs.exclusive.samples};
        if (path->function == function && calls.samples)
            result = add_way(paths, path->id, calls, out);
    }
    model_paths_sum(out);
    return result ? result : put_own_costs(paths, function, true, out);
}

enum { NAME_IN_TITLE = 8 };

/* What the two tables differ in. */
struct direction {
    const char *before, *behind; /* the function's name in the title */
    bool callers;
    const char *counted; /* behind "3 of 4": what those are of the function */
    bool with_below;
    int (*paths)(const struct model_paths *, uint32_t, struct model_paths *);
};

static struct model_cost cost_of_roots(const struct model_paths *paths)
{
    struct model_cost all = {0};
    for (size_t i = 0; i < paths->items.count; i++)
        if (!paths->items.items[i].parent) {
            all.samples += paths->items.items[i].costs.inclusive.samples;
            all.weight += paths->items.items[i].costs.inclusive.weight;
        }
    return all;
}

static int show(struct table *table, struct report_dataset *dataset, uint32_t function,
                const struct report_table_options *options, const struct direction *direction,
                const struct model_paths *paths, struct sprof_error *error)
{
    const struct model_cost all = cost_of_roots(paths);
    const char *name = report_dataset_function_name(dataset, function);
    struct sprof_str shown = {0}, of = {0}, title = {0}, note = {0};
    if (names_append(&shown, name, NAMES_SHORT))
        return SPROF_ENOMEM;
    /* Not much wider than the numbers below; the title holds the name. */
    sprof_str_appendf(&of, "of %s",
                      report_utf8_width(shown.text) <= NAME_IN_TITLE ? shown.text : "it");
    sprof_str_appendf(&title, "%s%s%s", direction->before, shown.text, direction->behind);
    sprof_str_appendf(&note, "%s of %s %s ", sprof_digits_of(all.samples).text,
                      sprof_digits_of(dataset->total.samples).text, direction->counted);
    report_name_cut(NULL, &note, shown.text, 24);
    sprof_str_release(&shown);
    const char *of_function = report_utf8_keep(&dataset->arena, &of);
    struct report_tree tree = {
        .dataset = dataset,
        .paths = paths,
        .options = options,
        .title = report_utf8_keep(&dataset->arena, &title),
        .note = report_utf8_keep(&dataset->arena, &note),
        .inclusive = report_measure_in_tree(&report_measure_inclusive, of_function, all),
        .exclusive = report_measure_in_tree(&report_measure_exclusive, of_function, all),
        .base = all,
        .has_exclusive = true,
        .callers = direction->callers,
    };
    tree.inclusive.with_below = direction->with_below;
    return of_function && tree.title && tree.note ? report_table_of_paths(table, &tree, error)
                                                  : SPROF_ENOMEM;
}

static int make(struct table *table, struct report_dataset *dataset,
                const struct report_table_options *options, const struct direction *direction,
                struct sprof_error *error)
{
    struct report_function_set set = {0};
    struct model_paths united = {0}, paths = {0};
    int result = report_function_search(dataset, options->function, &set, error);
    const bool alone = set.count == 1;
    if (!result && !alone)
        result = report_paths_unite(&dataset->paths, &set, &united);
    if (!result)
        result = direction->paths(alone ? &dataset->paths : &united, set.items[0], &paths);
    if (!result)
        result = show(table, dataset, set.items[0], options, direction, &paths, error);
    model_paths_release(&united);
    model_paths_release(&paths);
    sprof_vec_release(&set);
    return result;
}

int report_table_of_callees(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error)
{
    const struct direction callees = {
        .before = "Callees of ",
        .behind = ", from any caller",
        .counted = report_counts_calls(dataset) ? "calls are in or below" : "samples contain",
        .with_below = true,
        .paths = model_paths_callees};
    return make(table, dataset, options, &callees, error);
}

int report_table_of_callers(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error)
{
    const bool counts_calls = report_counts_calls(dataset);
    const struct direction callers = {.before = "Callers of ",
                                      .behind = ", nearest first",
                                      .callers = true,
                                      .counted = counts_calls ? "calls are of" : "samples contain",
                                      .with_below = !counts_calls,
                                      .paths = counts_calls ? calls_of : callers_of};
    return make(table, dataset, options, &callers, error);
}
