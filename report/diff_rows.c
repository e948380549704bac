/* Adds up the rows of a comparison: functions, modules, call paths or source lines of each run. */
#include "report/diff_parts.h"
#include "report/key_text.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

static int find_row(struct diff_comparison *comparison, uint64_t key, struct diff_row row,
                    size_t *index)
{
    const uint64_t *known = sprof_map_get(&comparison->indexes, key);
    if (known) {
        *index = *known - 1;
        return 0;
    }
    row.name = report_utf8_copy(&comparison->arena, row.name);
    row.module = report_utf8_copy(&comparison->arena, row.module);
    if (row.place && (!(row.place = report_utf8_copy(&comparison->arena, row.place)) ||
                      !(row.function = report_utf8_copy(&comparison->arena, row.function))))
        return SPROF_ENOMEM;
    if (!row.name || !row.module || sprof_vec_push(&comparison->rows, row) ||
        sprof_map_put(&comparison->indexes, key, comparison->rows.count))
        return SPROF_ENOMEM;
    *index = comparison->rows.count - 1;
    for (size_t i = 0; i < comparison->run_count; i++)
        if (sprof_vec_push(&comparison->costs, (struct model_cost){0}))
            return SPROF_ENOMEM;
    return 0;
}

static int add(struct diff_comparison *comparison, uint64_t key, struct diff_row row, size_t run,
               const struct model_costs *costs)
{
    const struct model_cost cost =
        comparison->diff->inclusive ? costs->inclusive : costs->exclusive;
    size_t index;
    if (!cost.samples && !cost.weight)
        return 0;
    if (find_row(comparison, key, row, &index))
        return SPROF_ENOMEM;
    struct model_cost *sum = &comparison->costs.items[index * comparison->run_count + run];
    sum->samples += cost.samples;
    sum->weight += cost.weight;
    return 0;
}

static struct diff_row function_row(const struct diff_comparison *comparison, size_t side,
                                    uint32_t number, bool unnamed)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const char *module = report_dataset_module_name(dataset, number);
    return (struct diff_row){.name = report_dataset_function_name(dataset, number),
                             .module = report_diff_module_name(comparison, side, module),
                             .unnamed = unnamed};
}

/* == Groups: the functions of a dataset that are one row == */

/* Several functions may have one key: a program may hold two of the same name and file, and a
 * library may be loaded in two versions. A stack with two of them counts once for their row. */
struct groups {
    struct sprof_map numbers; /* key → number, from 1 on */
    SPROF_VEC(struct group {
        uint64_t key;
        struct diff_row row;
    })
    items;
    uint32_t *of; /* [function or module number - 1]: its group, 0 for none */
};

static void groups_release(struct groups *groups)
{
    sprof_map_release(&groups->numbers);
    sprof_vec_release(&groups->items);
    free(groups->of);
}

static int join(struct groups *groups, size_t number, uint64_t key, struct diff_row row)
{
    const uint64_t *known = sprof_map_get(&groups->numbers, key);
    if (!known && (sprof_vec_push(&groups->items, (struct group){key, row}) ||
                   sprof_map_put(&groups->numbers, key, groups->items.count)))
        return SPROF_ENOMEM;
    groups->of[number - 1] = known ? (uint32_t)*known : (uint32_t)groups->items.count;
    return 0;
}

static int group_functions(struct diff_comparison *comparison, size_t side, struct groups *groups)
{
    const size_t count = report_dataset_facts(&comparison->dataset).count;
    groups->of = calloc(count + 1, sizeof *groups->of);
    int result = groups->of ? 0 : SPROF_ENOMEM;
    for (uint32_t number = 1; number <= count && !result; number++) {
        bool unnamed;
        uint64_t key;
        result = report_diff_function_key(comparison, side, number, &key, &unnamed);
        if (!result)
            result = join(groups, number, key, function_row(comparison, side, number, unnamed));
    }
    return result;
}

/* One row for the functions of a module that have no name. Whether it or theirs are shown is
 * decided when the builds of both sides are known. */
static int group_unnamed(struct diff_comparison *comparison, size_t side, struct groups *groups)
{
    const size_t count = report_dataset_facts(&comparison->dataset).count;
    struct sprof_str name = {0};
    groups->of = calloc(count + 1, sizeof *groups->of);
    int result = groups->of ? 0 : SPROF_ENOMEM;
    for (uint32_t number = 1; number <= count && !result; number++) {
        if (!report_diff_is_unnamed(comparison, number))
            continue;
        struct diff_row row = function_row(comparison, side, number, true);
        sprof_str_clear(&name);
        result = sprof_str_appendf(&name, "[unnamed in %s]", row.module);
        if (result)
            break;
        row.gathered = true;
        row.name = report_utf8_copy(&comparison->arena, name.text);
        result = row.name ? join(groups, number, sprof_hash_text(name.text), row) : SPROF_ENOMEM;
    }
    sprof_str_release(&name);
    return result;
}

static int group_modules(struct diff_comparison *comparison, size_t side, struct groups *groups)
{
    const struct report_dataset *dataset = &comparison->dataset;
    groups->of = calloc(dataset->modules.count + 1, sizeof *groups->of);
    int result = groups->of ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->modules.count && !result; i++) {
        const char *own = dataset->modules.items[i].name;
        const char *name = report_diff_module_name(comparison, side, own);
        result = join(groups, i + 1, report_diff_module_key(comparison, side, own),
                      (struct diff_row){.name = name, .module = name});
    }
    return result;
}

/* Costs of the groups, of which each counts a sample once. `by_module`: the groups' members are
 * modules, not functions. */
static int group_costs(const struct report_dataset *dataset, const struct groups *groups,
                       bool by_module, struct model_costs *costs)
{
    const struct model_paths *paths = &dataset->paths;
    uint32_t *things = calloc(paths->items.count + 1, sizeof *things);
    if (!things)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count; i++) {
        const uint32_t function = paths->items.items[i].function;
        things[i] =
            groups->of[(by_module ? dataset->facts.items[function - 1].module : function) - 1];
    }
    const int result = model_group_costs(paths, things, groups->items.count, costs);
    free(things);
    return result;
}

/* Where paths do not hold all that was called, total times of calls are known by function alone. */
static int call_costs(const struct report_dataset *dataset, const struct groups *groups,
                      struct model_costs *costs)
{
    const size_t count = report_dataset_facts(dataset).count;
    struct model_costs *each = calloc(count + 1, sizeof *each);
    const int result = each ? report_dataset_function_costs(dataset, each) : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        if (!groups->of[i])
            continue;
        struct model_costs *sum = &costs[groups->of[i] - 1];
        sum->exclusive.samples += each[i].exclusive.samples;
        sum->exclusive.weight += each[i].exclusive.weight;
        sum->inclusive.samples += each[i].inclusive.samples;
        sum->inclusive.weight += each[i].inclusive.weight;
    }
    free(each);
    return result;
}

static int add_groups(struct diff_comparison *comparison, size_t run, const struct groups *groups,
                      bool by_module)
{
    const struct report_dataset *dataset = &comparison->dataset;
    struct model_costs *costs = calloc(groups->items.count + 1, sizeof *costs);
    int result = costs ? 0 : SPROF_ENOMEM;
    if (!result)
        result = dataset->counted.totals.count && !by_module
                     ? call_costs(dataset, groups, costs)
                     : group_costs(dataset, groups, by_module, costs);
    for (size_t i = 0; i < groups->items.count && !result; i++)
        result =
            add(comparison, groups->items.items[i].key, groups->items.items[i].row, run, &costs[i]);
    free(costs);
    return result;
}

static int add_unnamed(struct diff_comparison *comparison, size_t side, size_t run)
{
    struct groups groups = {0};
    int result = group_unnamed(comparison, side, &groups);
    if (!result && groups.items.count)
        result = add_groups(comparison, run, &groups, false);
    groups_release(&groups);
    return result;
}

static int add_functions(struct diff_comparison *comparison, size_t side, size_t run)
{
    struct groups groups = {0};
    int result = group_functions(comparison, side, &groups);
    if (!result)
        result = add_groups(comparison, run, &groups, false);
    groups_release(&groups);
    return result ? result : add_unnamed(comparison, side, run);
}

static int add_own(struct diff_comparison *comparison, uint64_t key, size_t run,
                   struct model_cost cost)
{
    const uint64_t *known = sprof_map_get(&comparison->speed_indexes, key);
    size_t index = known ? *known - 1 : comparison->own.count / comparison->run_count;
    if (!known && sprof_map_put(&comparison->speed_indexes, key, index + 1))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < comparison->run_count && !known; i++)
        if (sprof_vec_push(&comparison->own, (struct model_cost){0}))
            return SPROF_ENOMEM;
    struct model_cost *sum = &comparison->own.items[index * comparison->run_count + run];
    sum->samples += cost.samples;
    sum->weight += cost.weight;
    return 0;
}

int report_diff_add_own(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct model_paths *paths = &comparison->dataset.paths;
    struct groups groups = {0};
    int result = group_functions(comparison, side, &groups);
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        const struct model_cost cost = path->costs.exclusive;
        if (cost.samples || cost.weight)
            result = add_own(comparison, groups.items.items[groups.of[path->function - 1] - 1].key,
                             run, cost);
    }
    groups_release(&groups);
    return result;
}

static int add_modules(struct diff_comparison *comparison, size_t side, size_t run)
{
    struct groups groups = {0};
    int result = group_modules(comparison, side, &groups);
    if (!result)
        result = add_groups(comparison, run, &groups, true);
    groups_release(&groups);
    return result;
}

/* == Call paths and lines == */

/* "main › work › hot": the way from the root. */
static int path_name(const struct report_dataset *dataset, uint32_t path, struct sprof_str *name)
{
    uint32_t functions[64];
    size_t count = 0;
    for (; path && count < sizeof functions / sizeof *functions;
         path = dataset->paths.items.items[path - 1].parent)
        functions[count++] = dataset->paths.items.items[path - 1].function;
    sprof_str_clear(name);
    int result = path ? sprof_str_append(name, "… › ") : 0;
    while (count-- > 0 && !result)
        result =
            sprof_str_appendf(name, "%s%s", report_dataset_function_name(dataset, functions[count]),
                              count ? " › " : "");
    return result;
}

static int add_paths(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const size_t count = dataset->paths.items.count;
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    struct sprof_str name = {0};
    int result = keys ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        bool unnamed;
        uint64_t function;
        result = report_diff_function_key(comparison, side, path->function, &function, &unnamed);
        if (!result)
            result = path_name(dataset, path->id, &name);
        if (result)
            break;
        keys[path->id] = sprof_hash_pair(keys[path->parent], function);
        struct diff_row row = function_row(comparison, side, path->function, unnamed);
        row.name = name.text;
        result = add(comparison, keys[path->id], row, run, &path->costs);
    }
    free(keys);
    sprof_str_release(&name);
    return result ? result : add_unnamed(comparison, side, run);
}

static int add_lines(struct diff_comparison *comparison, size_t side, size_t run)
{
    const struct report_dataset *dataset = &comparison->dataset;
    struct sprof_str name = {0}, place = {0};
    int result = 0;
    for (size_t i = 0; i < dataset->line_costs.count && !result; i++) {
        const struct report_line_cost *line = &dataset->line_costs.items[i];
        const struct report_frame *frame = &dataset->frames.items[line->frame - 1];
        bool unnamed = false;
        if (!frame->function)
            continue;
        uint64_t function;
        result = report_diff_function_key(comparison, side, frame->function, &function, &unnamed);
        if (result)
            break;
        struct diff_row row = function_row(comparison, side, frame->function, unnamed);
        sprof_str_clear(&name);
        sprof_str_clear(&place);
        row.function = row.name;
        result = frame->file
                     ? sprof_str_appendf(&name, "%s:%u %s", frame->file, frame->line, row.name) |
                           sprof_str_appendf(&place, "%s:%u", report_utf8_short_path(frame->file),
                                             frame->line)
                     : sprof_str_append(&name, row.name) | sprof_str_append(&place, "?");
        const uint64_t key = sprof_hash_pair(
            function, sprof_hash_pair(report_diff_file_key(frame->file), frame->line));
        row.name = name.text;
        row.place = place.text;
        if (!result)
            result = add(comparison, key, row, run, &line->costs);
    }
    sprof_str_release(&place);
    sprof_str_release(&name);
    return result ? result : add_unnamed(comparison, side, run);
}

/* == What samples are of == */

/* "worker, futex": the values of all keys. */
static int add_key_cost(struct diff_comparison *comparison, size_t run,
                        const struct report_cost *cost, struct sprof_str *name)
{
    const struct report_diff *diff = comparison->diff;
    const struct model_costs costs = {.exclusive = cost->cost, .inclusive = cost->cost};
    int result = 0;
    sprof_str_clear(name);
    for (size_t i = 0; i < diff->key_count && !result; i++) {
        result = i ? sprof_str_append(name, ", ") : 0;
        if (!result)
            result = report_key_append(name, &comparison->dataset, diff->keys[i], cost,
                                       REPORT_KEY_ALONE);
    }
    const char *text = name->text && *name->text ? name->text : "?";
    return result ? result
                  : add(comparison, sprof_hash_text(text),
                        (struct diff_row){.name = text, .module = ""}, run, &costs);
}

static int add_keys(struct diff_comparison *comparison, size_t side, size_t run)
{
    struct report_dataset *dataset = &comparison->dataset;
    struct sprof_str name = {0};
    int result = 0;
    (void)side;
    while (!result && !(result = report_dataset_next_costs(dataset)))
        for (size_t i = 0; i < dataset->costs.count && !result; i++)
            result = add_key_cost(comparison, run, &dataset->costs.items[i], &name);
    sprof_str_release(&name);
    return result < 0 ? result : 0;
}

static const char *key_words(struct diff_comparison *comparison)
{
    struct sprof_str words = {0};
    for (size_t i = 0; i < comparison->diff->key_count; i++)
        sprof_str_appendf(&words, "%s%s", i ? ", " : "",
                          report_key_word(comparison->diff->keys[i]));
    return report_utf8_keep(&comparison->arena, &words);
}

const char *report_diff_title(struct diff_comparison *comparison)
{
    const enum report_diff_by by = comparison->diff->by;
    return by == REPORT_DIFF_KEYS ? key_words(comparison) : report_diff_kinds[by].title;
}

const char *report_diff_column_key(struct diff_comparison *comparison)
{
    const enum report_diff_by by = comparison->diff->by;
    return by == REPORT_DIFF_KEYS ? key_words(comparison) : report_diff_kinds[by].key;
}

const struct diff_kind report_diff_kinds[] = {
    [REPORT_DIFF_FUNCTIONS] = {add_functions, 0, "function", "function", "functions"},
    [REPORT_DIFF_MODULES] = {add_modules, 0, "module", "module", "modules"},
    [REPORT_DIFF_PATHS] = {add_paths, 0, "call path", "path", "call paths"},
    [REPORT_DIFF_LINES] = {add_lines, REPORT_LINE_COSTS, "line", "line", "lines"},
    [REPORT_DIFF_KEYS] = {add_keys, REPORT_STACKS, NULL, NULL, "rows"},
};

/* == Rows of functions without a name == */

void report_diff_choose_unnamed(struct diff_comparison *comparison)
{
    const size_t runs = comparison->run_count;
    for (size_t i = 0; i < comparison->rows.count; i++) {
        const struct diff_row *row = &comparison->rows.items[i];
        if (row->unnamed && report_diff_same_build(comparison, row->module) == row->gathered)
            memset(&comparison->costs.items[i * runs], 0, runs * sizeof *comparison->costs.items);
    }
}
