/* The table of calls: which function calls which, and what the samples below cost. */
#include "report/columns.h"

#include <string.h>

static void name_column(struct table *table, const char *title, const char *key)
{
    report_table_column(table, (struct table_column){.title = title,
                                                     .key = key,
                                                     .kind = TABLE_NAME,
                                                     .only_data = !title,
                                                     .subject = true,
                                                     .functions = title != NULL});
}

int report_table_of_edges(struct table *table, struct report_dataset *dataset,
                          const struct report_table_options *options, struct sprof_error *error)
{
    struct model_edges edges = {0};
    uint32_t *order = NULL;
    /* What a callee called in its turn is not known where only direct callers are. */
    const bool is_own =
        report_counts_calls(dataset) && report_dataset_callers(dataset) == REPORT_DIRECT_CALLERS;
    struct measure measure = is_own ? report_measure_exclusive : report_measure_inclusive;
    const char *note = report_columns_base(dataset);
    int result = note ? model_edge_costs(&dataset->paths, &edges) : SPROF_ENOMEM;
    if (result)
        goto done;
    report_columns_begin(table, dataset,
                         is_own ? "Calls by self time"
                         : !strcmp(report_columns_amount(dataset), "time")
                             ? "Calls by total time"
                             : "Calls by total samples",
                         note);
    measure.with_below = false;
    report_columns_measure(table, dataset, &measure);
    name_column(table, "caller", "caller");
    name_column(table, NULL, "caller_module");
    name_column(table, "callee", "callee");
    name_column(table, NULL, "callee_module");
    for (size_t i = 0; i < edges.items.count; i++) {
        const struct model_edge *edge = &edges.items.items[i];
        /* Where calls are counted, those of the callee alone; its time holds what it called. */
        const struct model_cost cost = {report_counts_calls(dataset) ? edge->innermost.samples
                                                                     : edge->cost.samples,
                                        edge->cost.weight};
        report_cells_measure(table, dataset, &measure, cost);
        report_table_put_text(table, report_dataset_function_name(dataset, edge->caller));
        report_table_put_text(table, report_dataset_module_name(dataset, edge->caller));
        report_table_put_text(table, report_dataset_function_name(dataset, edge->callee));
        report_table_put_text(table, report_dataset_module_name(dataset, edge->callee));
    }
    result = table->failed ? SPROF_ENOMEM : report_table_sort(table, options->sort, &order, error);
    size_t kept = 0;
    const size_t most = options->no_limit ? SIZE_MAX : options->limit ? options->limit : 40;
    for (size_t i = 0; i < edges.items.count && !result; i++)
        if (kept < most && report_columns_enough(dataset, edges.items.items[order[i]].cost,
                                                 dataset->total, options->min_percent))
            order[kept++] = order[i];
    if (!result)
        result = report_table_take(table, order, kept);
    if (!result)
        result = report_columns_left_out(dataset, table, edges.items.count - kept, "call", "calls",
                                         NULL);
done:
    free(order);
    model_edges_release(&edges);
    return result;
}
