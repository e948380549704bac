/* The table about all functions that an expression finds, as one: their callers and callees. */
#include "report/columns.h"
#include "report/dataset_parts.h"
#include "report/function_search.h"
#include "report/tree.h"
#include "report/utf8_text.h"

#include <stdlib.h>

/* One row; the order is that of the table. */
enum role { CALLER, HERE, SELF, CALLEE, ROLES };

struct peeked {
    enum role role;
    uint32_t function; /* of a caller or callee */
    struct model_cost cost;
};

struct peek {
    struct report_dataset *dataset;
    const struct report_table_options *options;
    struct report_function_set set;
    struct model_paths united; /* in which the functions of the set are its first */
    SPROF_VEC(struct peeked) rows;
    struct measure measure;
    size_t left_out;
};

static int compare(const void *left, const void *right)
{
    const struct peeked *a = left, *b = right;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->cost.weight != b->cost.weight)
        return a->cost.weight > b->cost.weight ? -1 : 1;
    if (a->cost.samples != b->cost.samples)
        return a->cost.samples > b->cost.samples ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static int add_row(struct peek *peek, enum role role, uint32_t function, struct model_cost cost)
{
    return sprof_vec_push(&peek->rows, (struct peeked){role, function, cost});
}

static int add_edges(struct peek *peek, uint32_t here)
{
    struct model_edges edges = {0};
    int result = model_edge_costs(&peek->united, &edges);
    for (size_t i = 0; i < edges.items.count && !result; i++) {
        const struct model_edge *edge = &edges.items.items[i];
        struct model_cost cost = edge->cost;
        if (report_counts_calls(peek->dataset))
            cost.samples = edge->innermost.samples;
        if (edge->caller == edge->callee)
            continue;
        if (edge->callee == here)
            result = add_row(peek, CALLER, edge->caller, cost);
        else if (edge->caller == here)
            result = add_row(peek, CALLEE, edge->callee, cost);
    }
    model_edges_release(&edges);
    return result;
}

static int add_own(struct peek *peek, uint32_t here)
{
    uint32_t *things = calloc(peek->united.items.count + 1, sizeof *things);
    struct model_costs costs = {0};
    int result = things ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < peek->united.items.count && !result; i++)
        things[i] = peek->united.items.items[i].function == here;
    if (!result)
        result = model_group_costs(&peek->united, things, 1, &costs);
    free(things);
    if (!result)
        result = add_row(peek, HERE, 0, costs.inclusive);
    return result ? result : add_row(peek, SELF, 0, costs.exclusive);
}

/* Takes away what is too small, and what is too much on one side. */
static void cut(struct peek *peek)
{
    const struct report_table_options *options = peek->options;
    const size_t most = options->no_limit ? SIZE_MAX : options->limit ? options->limit : 20;
    size_t kept = 0, of_role[ROLES] = {0};
    for (size_t i = 0; i < peek->rows.count; i++) {
        const struct peeked row = peek->rows.items[i];
        const bool is_side = row.role == CALLER || row.role == CALLEE;
        if (is_side && (of_role[row.role]++ >= most ||
                        !report_columns_enough(peek->dataset, row.cost, peek->dataset->total,
                                               options->min_percent)))
            peek->left_out++;
        else
            peek->rows.items[kept++] = row;
    }
    peek->rows.count = kept;
}

static const char *name_of_all(const struct peek *peek)
{
    struct sprof_str text = {0};
    if (peek->set.count == 1)
        return report_dataset_function_name(peek->dataset, peek->set.items[0]);
    sprof_str_appendf(&text, "%zu functions that '%s' finds", peek->set.count,
                      peek->options->function);
    return report_utf8_keep(&peek->dataset->arena, &text);
}

static void put_rows(struct table *table, const struct peek *peek, const char *all)
{
    static const char *const words[] = {"caller", "here", "self", "callee"};
    struct report_dataset *dataset = peek->dataset;
    for (size_t i = 0; i < peek->rows.count; i++) {
        const struct peeked *row = &peek->rows.items[i];
        report_cells_measure(table, dataset, &peek->measure, row->cost);
        report_table_put_text(table, words[row->role]);
        report_table_put_text(
            table, row->function ? report_dataset_function_name(dataset, row->function) : all);
        report_table_put_text(
            table, row->function          ? report_dataset_module_name(dataset, row->function)
                   : peek->set.count == 1 ? report_dataset_module_name(dataset, peek->set.items[0])
                                          : "");
    }
}

static int make_table(struct table *table, struct peek *peek, struct sprof_error *error)
{
    struct report_dataset *dataset = peek->dataset;
    const char *all = name_of_all(peek), *note = report_columns_base(dataset);
    uint32_t *order = NULL;
    if (!all || !note)
        return SPROF_ENOMEM;
    report_columns_begin(table, dataset, "Callers, functions found, and callees", note);
    report_columns_measure(table, dataset, &peek->measure);
    report_table_column(table,
                        (struct table_column){.title = "role", .key = "role", .kind = TABLE_NAME});
    report_table_column(table, (struct table_column){.title = "function",
                                                     .key = "function",
                                                     .kind = TABLE_NAME,
                                                     .subject = true,
                                                     .functions = true});
    report_table_column(table, (struct table_column){.title = "module",
                                                     .key = "module",
                                                     .kind = TABLE_NAME,
                                                     .optional = TABLE_SECOND});
    put_rows(table, peek, all);
    int result = table->failed ? SPROF_ENOMEM : 0;
    if (!result && peek->options->sort) {
        result = report_table_sort(table, peek->options->sort, &order, error);
        if (!result)
            result = report_table_take(table, order, peek->rows.count);
        free(order);
    }
    return result ? result
                  : report_columns_left_out(dataset, table, peek->left_out, "caller or callee",
                                            "callers and callees", NULL);
}

int report_table_of_peek(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    struct peek peek = {
        .dataset = dataset, .options = options, .measure = report_measure_inclusive};
    int result = report_functions_matching(dataset, "peek", options->function, &peek.set, error);
    if (!result)
        result = report_paths_unite(&dataset->paths, &peek.set, &peek.united);
    if (!result)
        result = add_own(&peek, peek.set.items[0]);
    if (!result)
        result = add_edges(&peek, peek.set.items[0]);
    if (!result) {
        peek.measure.with_below = false;
        qsort(peek.rows.items, peek.rows.count, sizeof *peek.rows.items, compare);
        cut(&peek);
        result = make_table(table, &peek, error);
    }
    sprof_vec_release(&peek.rows);
    model_paths_release(&peek.united);
    sprof_vec_release(&peek.set);
    return result;
}
