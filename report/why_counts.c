/* Takes what probes counted for `sprof why` from the recording of a trace. */
#include "report/dataset.h"
#include "report/report.h"
#include "why/why.h"

#include <stdlib.h>
#include <string.h>

/* The table's number of a function of the trace, of those that were to be counted; 0: none. */
static uint32_t number_of(const struct report_dataset *dataset, const struct why_table *table,
                          const struct report_why_counted *wanted, uint32_t function)
{
    const char *name = report_dataset_function_name(dataset, function);
    for (size_t i = 0; i < wanted->count && name; i++)
        if (!strcmp(table->functions.items[wanted->functions[i]].full, name))
            return wanted->functions[i];
    return 0;
}

static int take(const struct report_dataset *dataset, const struct why_table *table,
                const struct report_why_counted *wanted, struct why_counts *counts)
{
    struct model_edges edges = {0};
    struct model_costs *costs = calloc(dataset->functions.count + 1, sizeof *costs);
    int result = costs ? report_dataset_function_costs(dataset, costs) : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->functions.count && !result; i++) {
        const uint32_t number = number_of(dataset, table, wanted, (uint32_t)i + 1);
        const struct why_called called = {number, costs[i].exclusive.samples,
                                          costs[i].inclusive.weight, 0};
        if (number)
            result = sprof_vec_push(&counts->functions, called);
    }
    result = result ? result : model_edge_costs(&dataset->paths, &edges);
    for (size_t i = 0; i < edges.items.count && !result; i++) {
        const struct model_edge *edge = &edges.items.items[i];
        const struct why_edge new = {number_of(dataset, table, wanted, edge->caller),
                                     number_of(dataset, table, wanted, edge->callee),
                                     edge->innermost.samples};
        if (new.caller &&new.callee)
            result = sprof_vec_push(&counts->edges, new);
    }
    model_edges_release(&edges);
    free(costs);
    return result;
}

struct taking_long {
    const struct why_table *table;
    struct why_counts *counts;
};

static int take_long(void *context, int columns, char *const *values, char *const *titles)
{
    const struct taking_long *taking = context;
    (void)titles;
    if (columns < 2 || !values[0])
        return 0;
    for (size_t i = 0; i < taking->counts->functions.count; i++) {
        struct why_called *called = &taking->counts->functions.items[i];
        if (values[1] && !strcmp(taking->table->functions.items[called->function].full, values[0]))
            called->long_ns = strtoull(values[1], NULL, 10);
    }
    return 0;
}

int report_why_counts(struct store *store, const struct why_table *table,
                      const struct report_why_counted *wanted, struct why_counts *counts,
                      struct sprof_error *error)
{
    struct report_dataset dataset = {0};
    const struct report_selection selection = {0};
    int result = report_dataset_load(&dataset, store, &selection, 0, error);
    if (!result) {
        counts->look_ns = dataset.run.duration_ns;
        result = take(&dataset, table, wanted, counts) ? sprof_error_memory(error) : 0;
    }
    if (!result)
        result =
            store_query(store, "SELECT function, max(p999_ns) FROM v_call_stats GROUP BY function",
                        take_long, &(struct taking_long){table, counts}, error);
    report_dataset_release(&dataset);
    return result;
}
