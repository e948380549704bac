/* The tables of call paths: any summed tree, the most expensive children first. */
#include "report/tree.h"

#include "report/columns.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

enum order { BY_INCLUSIVE, BY_EXCLUSIVE, BY_NAME };

/* A path while its tree is laid out. */
struct leaf {
    uint32_t first_child, next_sibling; /* of those shown; 0: none */
    uint32_t row;                       /* from 1; 0: not shown */
    uint32_t depth;                     /* as shown: what is folded counts as one level */
    bool shown;
};

struct layout {
    const struct report_tree *tree;
    struct table *table;
    enum order order;
    bool ascending;
    uint32_t *alphabetical; /* [function]: place of its name in the alphabet */
    uint32_t *namesakes;    /* [function]: number of a name that several have; 0 for others */
    struct leaf *leaves;    /* [path id]; 0 stands above all roots */
    uint32_t bars;
};

static const struct model_path *path_of(const struct layout *layout, uint32_t id)
{
    return &layout->tree->paths->items.items[id - 1];
}

static uint64_t value_of(const struct layout *layout, const struct model_path *path,
                         enum order order)
{
    const struct report_dataset *dataset = layout->tree->dataset;
    return order == BY_NAME        ? UINT32_MAX - layout->alphabetical[path->function]
           : order == BY_EXCLUSIVE ? report_dataset_value(dataset, path->costs.exclusive)
                                   : report_dataset_value(dataset, path->costs.inclusive);
}

/* == Which paths are shown, and in which order == */

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

/* Links the shown paths as the order says. */
static void link_shown(struct layout *layout, struct sibling *siblings)
{
    const struct model_paths *paths = layout->tree->paths;
    size_t count = 0;
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint64_t value = value_of(layout, path, layout->order);
        if (layout->leaves[path->id].shown)
            siblings[count++] =
                (struct sibling){layout->ascending ? UINT64_MAX - value : value, path->parent,
                                 layout->alphabetical[path->function], path->id};
    }
    if (count)
        qsort(siblings, count, sizeof *siblings, compare_siblings);
    for (size_t i = count; i-- > 0;) {
        struct leaf *parent = &layout->leaves[siblings[i].parent];
        layout->leaves[siblings[i].id].next_sibling = parent->first_child;
        parent->first_child = siblings[i].id;
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
    const struct report_tree *tree = layout->tree;
    const struct report_table_options *options = tree->options;
    const size_t most = options->no_limit || !options->limit ? SIZE_MAX : options->limit;
    size_t count = 0;
    for (size_t i = 0; i < tree->only_count; i++)
        layout->leaves[tree->only[i]].shown = true;
    for (size_t i = 0; i < tree->paths->items.count && !tree->only; i++) {
        const struct model_path *path = &tree->paths->items.items[i];
        if (report_columns_enough(tree->dataset, path->costs.inclusive, tree->base,
                                  options->min_percent))
            candidates[count++] =
                (struct sibling){.value = value_of(layout, path, BY_INCLUSIVE), .id = path->id};
    }
    if (most < count)
        qsort(candidates, count, sizeof *candidates, compare_for_limit);
    for (size_t i = 0; i < count && i < most; i++)
        layout->leaves[candidates[i].id].shown = true;
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
static int sort_names(struct layout *layout)
{
    const struct report_dataset *dataset = layout->tree->dataset;
    const uint32_t count = (uint32_t)dataset->functions.count;
    struct named *names = malloc((count + 1) * sizeof *names);
    layout->alphabetical = malloc((count + 1) * sizeof *layout->alphabetical);
    layout->namesakes = calloc(count + 1, sizeof *layout->namesakes);
    if (!names || !layout->alphabetical || !layout->namesakes) {
        free(names);
        return SPROF_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        names[i] = (struct named){report_dataset_function_name(dataset, i + 1),
                                  report_dataset_module_name(dataset, i + 1), i + 1};
    if (count)
        qsort(names, count, sizeof *names, compare_named);
    for (uint32_t i = 0, first = 0; i < count; i++) {
        layout->alphabetical[names[i].id] = i;
        if (i && !strcmp(names[i].name, names[i - 1].name))
            layout->namesakes[names[i].id] = layout->namesakes[names[i - 1].id] = first;
        else
            first = i + 1;
    }
    free(names);
    return 0;
}

/* == Rows == */

/* The last part of a path; "" for NULL. */
static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

/* What distinguishes a path from those beside it of the same name: " (MODULE)", " (FILE:LINE)" of
 * the declaration, or " (+0xADDRESS)"; nothing where its name does. */
static int put_distinction(const struct layout *layout, const struct model_path *path,
                           struct sprof_str *text)
{
    const struct report_dataset *dataset = layout->tree->dataset;
    const struct report_function *own = &dataset->functions.items[path->function - 1];
    const char *module = report_dataset_module_name(dataset, path->function);
    const char *file = file_name(own->file);
    const uint32_t name = layout->namesakes[path->function];
    bool any = false, same_module = false, same_place = false;
    uint32_t id = name ? layout->leaves[path->parent].first_child : 0;
    for (; id; id = layout->leaves[id].next_sibling) {
        const uint32_t function = path_of(layout, id)->function;
        if (id == path->id || layout->namesakes[function] != name)
            continue;
        any = true;
        if (strcmp(report_dataset_module_name(dataset, function), module) != 0)
            continue;
        const struct report_function *other = &dataset->functions.items[function - 1];
        same_module = true;
        same_place =
            same_place || (!strcmp(file_name(other->file), file) && other->line == own->line);
    }
    return !any                   ? 0
           : !same_module         ? sprof_str_appendf(text, " (%s)", module)
           : same_place || !*file ? sprof_str_appendf(text, " (+0x%" PRIx64 ")", own->start)
                                  : sprof_str_appendf(text, " (%s:%u)", file, own->line);
}

/* Sets what is said behind the name: that a function already runs further out, or that its code is
 * part of its caller's. 0 or SPROF_ENOMEM. */
static int find_mark(const struct layout *layout, const struct model_path *path, const char **mark)
{
    struct report_dataset *dataset = layout->tree->dataset;
    bool recursive = false;
    *mark = NULL;
    for (uint32_t id = path->parent; id && !recursive; id = path_of(layout, id)->parent)
        recursive = path_of(layout, id)->function == path->function;
    const bool inlined = layout->tree->own_paths && path->id <= dataset->path_inlined.count &&
                         dataset->path_inlined.items[path->id - 1];
    if (!layout->tree->options->marks ||
        !(recursive || inlined || layout->namesakes[path->function]))
        return 0;
    struct sprof_str text = {0};
    sprof_str_append(&text, "");
    put_distinction(layout, path, &text);
    sprof_str_appendf(&text, "%s%s", recursive ? " (recursive)" : "", inlined ? " (inlined)" : "");
    *mark = report_utf8_keep(&dataset->arena, &text);
    return *mark ? 0 : SPROF_ENOMEM;
}

/* Adds a row; of `place` its depth and bars are set here. */
static int add_row(struct layout *layout, const struct model_path *path, const char *name,
                   const char *module, const struct model_costs *costs, struct table_place place,
                   uint32_t depth)
{
    const struct report_tree *tree = layout->tree;
    struct table *table = layout->table;
    struct leaf *leaf = &layout->leaves[path->id];
    report_cells_measure(table, tree->dataset, &tree->inclusive, costs->inclusive);
    if (tree->has_exclusive)
        report_cells_measure(table, tree->dataset, &tree->exclusive, costs->exclusive);
    leaf->row = (uint32_t)table->places.count + 1;
    report_table_put_count(table, leaf->row);
    report_table_put_count(table, layout->leaves[path->parent].row);
    report_table_put_count(table, path->depth);
    report_table_put_text(table, name);
    report_table_put_text(table, module);
    place.depth = depth;
    place.path = path->id;
    place.bars = layout->bars;
    if (depth < TABLE_BARS)
        layout->bars = place.last ? layout->bars & ~(1u << depth) : layout->bars | 1u << depth;
    return !name || table->failed || sprof_vec_push(&table->places, place) ? SPROF_ENOMEM : 0;
}

/* The only child of a path, where it has nearly its cost; else 0. */
static uint32_t next_in_chain(const struct layout *layout, uint32_t id)
{
    const uint32_t child = layout->leaves[id].first_child;
    const uint64_t all = value_of(layout, path_of(layout, id), BY_INCLUSIVE);
    if (!child || layout->leaves[child].next_sibling ||
        (double)value_of(layout, path_of(layout, child), BY_INCLUSIVE) * 100 <
            (double)all * REPORT_FOLD_PERCENT)
        return 0;
    return child;
}

/* The nearest landmark below a path, or the path itself, as where several ways begin. */
static uint32_t next_landmark(const struct layout *layout, uint32_t id)
{
    uint32_t next = layout->leaves[id].first_child;
    if (next && layout->leaves[next].next_sibling)
        return id;
    while (next && !layout->tree->landmarks[next])
        next = layout->leaves[next].first_child;
    return next ? next : id;
}

/* The last path of the chain below one, or the path itself. A chain ends early at the program's
 * innermost function: what it calls of libraries says less than its name. */
static uint32_t last_in_chain(const struct layout *layout, uint32_t id)
{
    if (layout->tree->landmarks)
        return next_landmark(layout, id);
    uint32_t last = id, innermost = id;
    for (uint32_t next; (next = next_in_chain(layout, last)); last = next)
        if (report_dataset_is_own(layout->tree->dataset, path_of(layout, next)->function))
            innermost = next;
    return innermost != id && !layout->tree->callers ? innermost : last;
}

/* The end of the chain below a path; adds up those passed on the way and counts them. */
static uint32_t end_of_chain(const struct layout *layout, uint32_t id, uint32_t *passed,
                             struct model_costs *costs)
{
    const uint32_t end = last_in_chain(layout, id);
    *passed = 0;
    *costs = (struct model_costs){0};
    for (; id != end; id = layout->leaves[id].first_child) {
        const uint32_t child = layout->leaves[id].first_child;
        if (costs->inclusive.weight || costs->inclusive.samples) {
            const struct model_cost cost = path_of(layout, id)->costs.exclusive;
            costs->exclusive.samples += layout->tree->callers ? 0 : cost.samples;
            costs->exclusive.weight += layout->tree->callers ? 0 : cost.weight;
            ++*passed;
        } else {
            costs->inclusive = path_of(layout, child)->costs.inclusive;
            if (layout->tree->callers)
                costs->exclusive = path_of(layout, child)->costs.exclusive;
        }
    }
    return end;
}

static int add_fold(struct layout *layout, uint32_t id, uint32_t passed,
                    const struct model_costs *costs)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "… %u frames", passed);
    const char *name = report_utf8_keep(&layout->tree->dataset->arena, &text);
    return add_row(layout, path_of(layout, layout->leaves[id].first_child), name, "", costs,
                   (struct table_place){.last = true, .folded = true},
                   layout->leaves[id].depth + 1);
}

/* Depth first, without the C stack. */
static int add_rows(struct layout *layout)
{
    const struct report_dataset *dataset = layout->tree->dataset;
    struct leaf *leaves = layout->leaves;
    uint32_t id = leaves[0].first_child;
    int result = 0;
    while (id && !result) {
        const struct model_path *path = path_of(layout, id);
        struct model_costs costs;
        const bool is_group =
            layout->tree->group_module &&
            dataset->facts.items[path->function - 1].module == layout->tree->group_module;
        struct table_place place = {.last = !leaves[id].next_sibling, .folded = is_group};
        uint32_t passed, end;
        result = find_mark(layout, path, &place.mark);
        if (!result)
            result = add_row(layout, path, report_dataset_function_name(dataset, path->function),
                             report_dataset_module_name(dataset, path->function), &path->costs,
                             place, leaves[id].depth);
        const bool may_fold =
            layout->tree->options->fold && !is_group && !(layout->tree->callers && !path->parent);
        if (!result && may_fold && (end = end_of_chain(layout, id, &passed, &costs)) != id &&
            passed >= REPORT_FOLD_FRAMES) {
            result = add_fold(layout, id, passed, &costs);
            leaves[end].depth = leaves[id].depth + 2;
            id = end;
            continue;
        }
        if (leaves[id].first_child) {
            const uint32_t depth = leaves[id].depth + 1;
            id = leaves[id].first_child;
            for (uint32_t child = id; child; child = leaves[child].next_sibling)
                leaves[child].depth = depth;
            continue;
        }
        while (id && !leaves[id].next_sibling)
            id = path_of(layout, id)->parent;
        id = leaves[id].next_sibling;
    }
    return result;
}

static int note_left_out(struct layout *layout)
{
    const struct model_paths *paths = layout->tree->paths;
    struct model_cost cost = {0};
    uint64_t rows = 0;
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        if (layout->leaves[path->id].shown)
            continue;
        rows++;
        cost.samples += path->costs.exclusive.samples;
        cost.weight += path->costs.exclusive.weight;
    }
    return report_columns_left_out(
        layout->tree->dataset, layout->table, rows, "call path", "call paths",
        layout->tree->has_exclusive && !layout->tree->callers ? &cost : NULL);
}

static void make_columns(struct table *table, const struct report_tree *tree)
{
    report_columns_begin(table, tree->dataset, tree->title, tree->note);
    report_columns_measure(table, tree->dataset, &tree->inclusive);
    if (tree->has_exclusive)
        report_columns_measure(table, tree->dataset, &tree->exclusive);
    static const char *const numbers[] = {"id", "parent", "depth"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        report_table_column(table, (struct table_column){
                                       .key = numbers[i], .kind = TABLE_COUNT, .only_data = true});
    report_table_column(
        table, (struct table_column){.title = tree->path_title ? tree->path_title : "call path",
                                     .key = "function",
                                     .kind = TABLE_PATH,
                                     .functions = true});
    report_table_column(
        table, (struct table_column){.key = "module", .kind = TABLE_NAME, .only_data = true});
}

/* Siblings can be in the order of either measure, or of names. */
static int choose_order(struct layout *layout, struct sprof_error *error)
{
    const struct table *table = layout->table;
    size_t column;
    const int result = report_table_sort_column(table, layout->tree->options->sort, &column,
                                                &layout->ascending, error);
    if (result)
        return result;
    const char *key = table->columns[column].key;
    if (table->columns[column].kind == TABLE_PATH) {
        layout->order = BY_NAME;
        layout->ascending = !layout->ascending; /* names that come first have the larger value */
    } else if (!strncmp(key, "exclusive", strlen("exclusive"))) {
        layout->order = BY_EXCLUSIVE;
    } else if (strncmp(key, "inclusive", strlen("inclusive")) != 0) {
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "a tree is not sorted by %s: choose a column of samples, or function", key);
    }
    return 0;
}

int report_table_of_paths(struct table *table, const struct report_tree *tree,
                          struct sprof_error *error)
{
    const size_t count = tree->paths->items.count + 1;
    struct layout layout = {.tree = tree, .table = table};
    struct sibling *siblings = malloc(count * sizeof *siblings);
    make_columns(table, tree);
    layout.leaves = calloc(count, sizeof *layout.leaves);
    int result = siblings && layout.leaves ? choose_order(&layout, error) : SPROF_ENOMEM;
    if (!result)
        result = sort_names(&layout);
    if (!result) {
        choose_shown(&layout, siblings);
        link_shown(&layout, siblings);
        result = add_rows(&layout);
    }
    if (!result && !tree->only)
        result = note_left_out(&layout);
    free(siblings);
    free(layout.leaves);
    free(layout.alphabetical);
    free(layout.namesakes);
    return result;
}

struct measure report_measure_in_tree(const struct measure *measure, const char *of_function,
                                      struct model_cost function_cost)
{
    struct measure own = *measure;
    own.ranking = false;
    own.of_function = of_function;
    own.function_cost = function_cost;
    return own;
}

/* What is inlined is only said to people. */
unsigned report_tree_parts(const struct report_table_options *options,
                           const struct report_selection *selection)
{
    (void)selection;
    return options->marks ? REPORT_INLINED : 0;
}

struct report_tree report_tree_of_calls(struct report_dataset *dataset,
                                        const struct report_table_options *options)
{
    return (struct report_tree){
        .dataset = dataset,
        .paths = &dataset->paths,
        .options = options,
        .title = "Call paths",
        .note = report_columns_base(dataset),
        .inclusive = report_measure_in_tree(&report_measure_inclusive, NULL, dataset->total),
        .exclusive = report_measure_in_tree(&report_measure_exclusive, NULL, dataset->total),
        .base = dataset->total,
        .has_exclusive = true,
        .own_paths = true,
    };
}

int report_table_of_tree(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    const struct report_tree tree = report_tree_of_calls(dataset, options);
    return tree.note ? report_table_of_paths(table, &tree, error) : SPROF_ENOMEM;
}
