/* The tables of call paths: the whole tree, what lies below a function, and what leads to it. */
#include "report/columns.h"

#include "report/number_format.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

/* A tree while it is laid out. Arrays are indexed by path id; 0 stands above all roots. */
struct layout {
    struct profile *profile;
    const struct model_paths *paths;
    const struct report_options *options;
    const struct measure *inclusive, *exclusive; /* exclusive NULL: not shown */
    const uint32_t *alphabetical; /* function → place of its name in the alphabet */
    uint32_t *first_child, *next_sibling;
    uint32_t *rows; /* the row of a path, from 1; 0: not shown */
    bool *shown;
};

static uint64_t value_of(const struct layout *layout, const struct model_path *path)
{
    return profile_value(layout->profile, path->costs.inclusive);
}

struct sibling {
    uint64_t value;
    uint32_t parent, rank, id;
};

static int compare_siblings(const void *a, const void *b)
{
    const struct sibling *first = a, *second = b;
    if (first->parent != second->parent)
        return first->parent < second->parent ? -1 : 1;
    if (first->value != second->value)
        return first->value > second->value ? -1 : 1;
    if (first->rank != second->rank)
        return first->rank < second->rank ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* Links the shown paths, the most expensive first. */
static void link_shown(struct layout *layout, struct sibling *siblings)
{
    size_t count = 0;
    for (size_t i = 0; i < layout->paths->items.count; i++) {
        const struct model_path *path = &layout->paths->items.items[i];
        if (layout->shown[path->id])
            siblings[count++] = (struct sibling){value_of(layout, path), path->parent,
                                                 layout->alphabetical[path->function], path->id};
    }
    if (count)
        qsort(siblings, count, sizeof *siblings, compare_siblings);
    for (size_t i = count; i-- > 0;) {
        layout->next_sibling[siblings[i].id] = layout->first_child[siblings[i].parent];
        layout->first_child[siblings[i].parent] = siblings[i].id;
    }
}

/* By cost, parents before their children: the first so many of them hang together. */
static int compare_for_limit(const void *a, const void *b)
{
    const struct sibling *first = a, *second = b;
    if (first->value != second->value)
        return first->value > second->value ? -1 : 1;
    return first->id < second->id ? -1 : first->id > second->id;
}

static void choose_shown(struct layout *layout, struct sibling *candidates)
{
    const struct report_options *options = layout->options;
    const size_t most = options->no_limit || !options->limit ? (size_t)-1 : options->limit;
    size_t count = 0;
    for (size_t i = 0; i < layout->paths->items.count; i++) {
        const struct model_path *path = &layout->paths->items.items[i];
        if (columns_enough(layout->profile, path->costs.inclusive, options->min_percent))
            candidates[count++] = (struct sibling){.value = value_of(layout, path), .id = path->id};
    }
    if (most < count)
        qsort(candidates, count, sizeof *candidates, compare_for_limit);
    for (size_t i = 0; i < count && i < most; i++)
        layout->shown[candidates[i].id] = true;
}

static int add_row(struct layout *layout, struct table *table, uint32_t id,
                   struct table_place place)
{
    const struct model_path *path = &layout->paths->items.items[id - 1];
    struct table_row row = {.place = place};
    struct table_cell *at = row.cells;
    cells_measure(&at, layout->profile, layout->inclusive, path->costs.inclusive);
    if (layout->exclusive)
        cells_measure(&at, layout->profile, layout->exclusive, path->costs.exclusive);
    layout->rows[id] = (uint32_t)table->rows.count + 1;
    cell_count(&at, layout->rows[id]);
    cell_count(&at, layout->rows[path->parent]);
    cell_count(&at, path->depth);
    cell_text(&at, profile_function_name(layout->profile, path->function));
    cell_text(&at, profile_module_name(layout->profile, path->function));
    return sprof_vec_push(&table->rows, row);
}

/* Depth first, without the C stack. */
static int add_rows(struct layout *layout, struct table *table)
{
    uint32_t bars = 0, id = layout->first_child[0];
    int result = 0;
    while (id && !result) {
        const struct model_path *path = &layout->paths->items.items[id - 1];
        const uint32_t depth = path->depth - 1;
        const bool last = !layout->next_sibling[id];
        result = add_row(layout, table, id, (struct table_place){depth, last, bars});
        if (depth < TABLE_BARS)
            bars = last ? bars & ~(1u << depth) : bars | 1u << depth;
        if (layout->first_child[id]) {
            id = layout->first_child[id];
            continue;
        }
        while (id && !layout->next_sibling[id])
            id = layout->paths->items.items[id - 1].parent;
        id = layout->next_sibling[id];
    }
    return result;
}

static int note_left_out(struct layout *layout, struct table *table, const char *what)
{
    struct model_cost cost = {0};
    uint64_t rows = 0;
    for (size_t i = 0; i < layout->paths->items.count; i++) {
        const struct model_path *path = &layout->paths->items.items[i];
        if (layout->shown[path->id])
            continue;
        rows++;
        cost.samples += path->costs.exclusive.samples;
        cost.weight += path->costs.exclusive.weight;
    }
    if (!rows)
        return 0;
    table->left_out = columns_left_out(layout->profile, table, rows, what, cost);
    return table->left_out ? 0 : SPROF_ENOMEM;
}

struct named {
    const char *name, *module;
    uint32_t id;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *first = a, *second = b;
    const int by_name = strcmp(first->name, second->name);
    return by_name ? by_name : strcmp(first->module, second->module);
}

/* Compares each pair of names once, not once for each pair of siblings. */
static uint32_t *sort_names(const struct profile *profile)
{
    const size_t count = profile->functions.count;
    struct named *names = malloc((count + 1) * sizeof *names);
    uint32_t *places = malloc((count + 1) * sizeof *places);
    for (uint32_t i = 0; names && places && i < count; i++)
        names[i] = (struct named){profile_function_name(profile, i + 1),
                                  profile_module_name(profile, i + 1), i + 1};
    if (names && places && count)
        qsort(names, count, sizeof *names, compare_named);
    for (uint32_t i = 0; names && places && i < count; i++)
        places[names[i].id] = i;
    if (!names) {
        free(places);
        places = NULL;
    }
    free(names);
    return places;
}

static int lay_out(struct layout *layout, struct table *table, const char *what)
{
    const size_t count = layout->paths->items.count + 1;
    uint32_t *alphabetical = sort_names(layout->profile);
    struct sibling *siblings = malloc(count * sizeof *siblings);
    layout->first_child = calloc(count, sizeof *layout->first_child);
    layout->next_sibling = calloc(count, sizeof *layout->next_sibling);
    layout->rows = calloc(count, sizeof *layout->rows);
    layout->shown = calloc(count, sizeof *layout->shown);
    layout->alphabetical = alphabetical;
    int result = SPROF_ENOMEM;
    if (siblings && alphabetical && layout->first_child && layout->next_sibling && layout->rows &&
        layout->shown) {
        choose_shown(layout, siblings);
        link_shown(layout, siblings);
        result = add_rows(layout, table);
    }
    if (!result)
        result = note_left_out(layout, table, what);
    free(layout->first_child);
    free(layout->next_sibling);
    free(layout->rows);
    free(layout->shown);
    free(siblings);
    free(alphabetical);
    return result;
}

static void tree_columns(struct table *table, const struct layout *layout)
{
    columns_measure(table, layout->profile, layout->inclusive);
    if (layout->exclusive)
        columns_measure(table, layout->profile, layout->exclusive);
    report_table_column(table,
                        (struct table_column){.key = "id", .kind = TABLE_COUNT, .only_data = true});
    report_table_column(
        table, (struct table_column){.key = "parent", .kind = TABLE_COUNT, .only_data = true});
    report_table_column(
        table, (struct table_column){.key = "depth", .kind = TABLE_COUNT, .only_data = true});
    report_table_column(
        table, (struct table_column){.title = "call path", .key = "function", .kind = TABLE_PATH});
    report_table_column(
        table, (struct table_column){
                   .title = "module", .key = "module", .kind = TABLE_NAME, .only_data = true});
}

static struct measure in_tree(const struct measure *measure, const char *group, const char *focus,
                              struct model_cost focus_cost)
{
    struct measure own = *measure;
    own.group = group;
    own.ranking = false;
    own.focus = focus;
    own.focus_cost = focus_cost;
    return own;
}

int report_table_of_tree(struct table *table, struct profile *profile,
                         const struct report_options *options)
{
    const struct measure inclusive = in_tree(&measure_inclusive, "inclusive", NULL, profile->total);
    const struct measure exclusive = in_tree(&measure_exclusive, "exclusive", NULL, profile->total);
    struct layout layout = {.profile = profile,
                            .paths = &profile->paths,
                            .options = options,
                            .inclusive = &inclusive,
                            .exclusive = &exclusive};
    columns_begin(table, profile, "Call paths", columns_base(profile));
    tree_columns(table, &layout);
    return table->note ? lay_out(&layout, table, "call path") : SPROF_ENOMEM;
}

/* What the two tables about one function differ in. */
struct focus {
    const char *title[2]; /* before and behind the name */
    const char *group;
    bool exclusive;
    int (*paths)(const struct model_paths *, uint32_t, struct model_paths *);
};

/* "of A2", at most as wide as a number needs anyway. */
static const char *of_function(struct profile *profile, uint32_t function)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, "of ");
    report_utf8_shortened(&text, profile_function_name(profile, function), 12);
    return report_utf8_keep(&profile->arena, &text);
}

static const char *titled(struct profile *profile, const struct focus *what, uint32_t function)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, what->title[0]);
    report_utf8_shortened(&text, profile_function_name(profile, function), 60);
    sprof_str_append(&text, what->title[1]);
    return report_utf8_keep(&profile->arena, &text);
}

/* "5 of 6 samples contain A2". */
static const char *how_many(struct profile *profile, uint32_t function, struct model_cost cost)
{
    char part[NUMBER_BYTES], whole[NUMBER_BYTES];
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%s of %s samples contain ", report_number_grouped(part, cost.samples),
                      report_number_grouped(whole, profile->total.samples));
    report_utf8_shortened(&text, profile_function_name(profile, function), 30);
    return report_utf8_keep(&profile->arena, &text);
}

static int lay_out_focus(struct table *table, struct profile *profile, uint32_t function,
                         const struct report_options *options, const struct focus *what,
                         const struct model_paths *paths)
{
    const struct model_cost all = model_paths_total(paths);
    const char *focus = of_function(profile, function);
    const char *title = titled(profile, what, function);
    const char *note = how_many(profile, function, all);
    if (!focus || !title || !note)
        return SPROF_ENOMEM;
    const struct measure inclusive = in_tree(&measure_inclusive, what->group, focus, all);
    const struct measure exclusive = in_tree(&measure_exclusive, "exclusive", focus, all);
    struct layout layout = {.profile = profile,
                            .paths = paths,
                            .options = options,
                            .inclusive = &inclusive,
                            .exclusive = what->exclusive ? &exclusive : NULL};
    columns_begin(table, profile, title, note);
    tree_columns(table, &layout);
    return lay_out(&layout, table, "call path");
}

static int table_of_focus(struct table *table, struct profile *profile, uint32_t function,
                          const struct report_options *options, const struct focus *what)
{
    struct model_paths paths;
    if (what->paths(&profile->paths, function, &paths))
        return SPROF_ENOMEM;
    const int result = lay_out_focus(table, profile, function, options, what, &paths);
    model_paths_release(&paths);
    return result;
}

int report_table_of_callees(struct table *table, struct profile *profile, uint32_t function,
                            const struct report_options *options)
{
    static const struct focus callees = {
        {"Callees of ", ", from any caller"}, "inclusive", true, model_paths_callees};
    return table_of_focus(table, profile, function, options, &callees);
}

int report_table_of_callers(struct table *table, struct profile *profile, uint32_t function,
                            const struct report_options *options)
{
    static const struct focus callers = {{"Callers of ", ""}, NULL, false, model_paths_callers};
    return table_of_focus(table, profile, function, options, &callers);
}
