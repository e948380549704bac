/* The tables of call paths: any summed tree, the most expensive children first. */
#include "report/tree.h"

#include "report/columns.h"

#include "report/number_format.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

/* A tree while it is laid out. Arrays are indexed by path id; 0 stands above all roots. */
struct layout {
    struct report_dataset *dataset;
    const struct model_paths *paths;
    const struct report_table_options *options;
    const struct measure *inclusive, *exclusive; /* exclusive NULL: not shown */
    const uint32_t *alphabetical; /* function → place of its name in the alphabet */
    uint32_t *first_child, *next_sibling;
    uint32_t *rows; /* the row of a path, from 1; 0: not shown */
    bool *shown;
};

static uint64_t value_of(const struct layout *layout, const struct model_path *path)
{
    return report_dataset_value(layout->dataset, path->costs.inclusive);
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
    const struct report_table_options *options = layout->options;
    const size_t most = options->no_limit || !options->limit ? (size_t)-1 : options->limit;
    size_t count = 0;
    for (size_t i = 0; i < layout->paths->items.count; i++) {
        const struct model_path *path = &layout->paths->items.items[i];
        if (columns_enough(layout->dataset, path->costs.inclusive, options->min_percent))
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
    cells_measure(&at, layout->dataset, layout->inclusive, path->costs.inclusive);
    if (layout->exclusive)
        cells_measure(&at, layout->dataset, layout->exclusive, path->costs.exclusive);
    layout->rows[id] = (uint32_t)table->rows.count + 1;
    cell_count(&at, layout->rows[id]);
    cell_count(&at, layout->rows[path->parent]);
    cell_count(&at, path->depth);
    cell_text(&at, report_dataset_function_name(layout->dataset, path->function));
    cell_text(&at, report_dataset_module_name(layout->dataset, path->function));
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
    table->left_out = columns_left_out(layout->dataset, table, rows, what, cost);
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
static uint32_t *sort_names(const struct report_dataset *dataset)
{
    const size_t count = dataset->functions.count;
    struct named *names = malloc((count + 1) * sizeof *names);
    uint32_t *places = malloc((count + 1) * sizeof *places);
    for (uint32_t i = 0; names && places && i < count; i++)
        names[i] = (struct named){report_dataset_function_name(dataset, i + 1),
                                  report_dataset_module_name(dataset, i + 1), i + 1};
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
    uint32_t *alphabetical = sort_names(layout->dataset);
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
    columns_measure(table, layout->dataset, layout->inclusive);
    if (layout->exclusive)
        columns_measure(table, layout->dataset, layout->exclusive);
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

struct measure report_measure_in_tree(const struct measure *measure, const char *group,
                                      const char *focus, struct model_cost focus_cost)
{
    struct measure own = *measure;
    own.group = group;
    own.ranking = false;
    own.focus = focus;
    own.focus_cost = focus_cost;
    return own;
}

int report_table_of_paths(struct table *table, const struct report_tree *tree)
{
    struct layout layout = {.dataset = tree->dataset,
                            .paths = tree->paths,
                            .options = tree->options,
                            .inclusive = &tree->inclusive,
                            .exclusive = tree->has_exclusive ? &tree->exclusive : NULL};
    columns_begin(table, tree->dataset, tree->title, tree->note);
    tree_columns(table, &layout);
    return lay_out(&layout, table, "call path");
}

int report_table_of_tree(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options)
{
    const struct report_tree tree = {
        .dataset = dataset,
        .paths = &dataset->paths,
        .options = options,
        .title = "Call paths",
        .note = columns_base(dataset),
        .inclusive = report_measure_in_tree(&measure_inclusive, "inclusive", NULL, dataset->total),
        .exclusive = report_measure_in_tree(&measure_exclusive, "exclusive", NULL, dataset->total),
        .has_exclusive = true,
    };
    return tree.note ? report_table_of_paths(table, &tree) : SPROF_ENOMEM;
}
