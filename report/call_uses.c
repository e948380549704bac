/* Reads what calls of functions use beside time, and makes columns of it. */
#include "report/call_uses.h"

#include <stdlib.h>

static const struct {
    const char *title, *key;
    unsigned optional;
} uses[REPORT_CALL_USES] = {
    [REPORT_USE_STACK] = {"stack-bytes", "stack_bytes", TABLE_STAYS},
    [REPORT_USE_HEAP_SELF] = {"heap-self", "heap_self_bytes", TABLE_STAYS},
    [REPORT_USE_HEAP_TOTAL] = {"heap-total", "heap_total_bytes", TABLE_STAYS},
    [REPORT_USE_ALLOCATIONS] = {"allocations", "allocations", TABLE_DETAIL},
};

/* == Reading == */

/* The deepest of all runs, and what was allocated in them together. */
static void add(uint64_t *sum, enum report_call_use use, uint64_t value)
{
    if (*sum == TABLE_UNKNOWN)
        *sum = value;
    else if (use == REPORT_USE_STACK)
        *sum = *sum > value ? *sum : value;
    else
        *sum += value;
}

static int add_row(void *context, int columns, char *const *values, char *const *names)
{
    struct report_dataset *dataset = context;
    (void)names;
    const uint32_t id = values[0] ? (uint32_t)strtoul(values[0], NULL, 10) : 0;
    const uint32_t function = report_dataset_function_of(dataset, id);
    for (int i = 0; i < REPORT_CALL_USES && i + 1 < columns && function; i++)
        if (values[i + 1])
            add(&dataset->counted.uses.items[function - 1].of[i], (enum report_call_use)i,
                strtoull(values[i + 1], NULL, 10));
    return 0;
}

static int load_run(struct report_dataset *dataset, struct store *store, uint32_t run,
                    struct sprof_error *error)
{
    char sql[640];
    snprintf(sql, sizeof sql,
             "SELECT p.function_id, max(stack), sum(self), sum(total), sum(blocks) FROM (SELECT "
             "node_id, stack_bytes AS stack, NULL AS self, NULL AS total, NULL AS blocks FROM "
             "call_stack WHERE run_id = %1$u UNION ALL SELECT node_id, NULL, self_bytes, "
             "total_bytes, blocks FROM call_heap WHERE run_id = %1$u) u JOIN node_path n ON "
             "n.node_id = u.node_id JOIN call_path p ON p.id = n.path_id GROUP BY 1",
             run);
    return store_query(store, sql, add_row, dataset, error);
}

int report_call_uses_load(struct report_dataset *dataset, struct store *store,
                          struct sprof_error *error)
{
    struct report_call_uses none;
    int result = 0;
    for (int i = 0; i < REPORT_CALL_USES; i++)
        none.of[i] = TABLE_UNKNOWN;
    for (size_t i = 0; i < dataset->functions.count && !result; i++)
        result = sprof_vec_push(&dataset->counted.uses, none);
    for (size_t i = 0; i < dataset->runs.count && !result; i++)
        result = load_run(dataset, store, dataset->runs.items[i].id, error);
    return result;
}

/* == Columns == */

/* Whether any function has such a figure. */
static bool is_measured(const struct report_dataset *dataset, enum report_call_use use)
{
    for (size_t i = 0; i < dataset->counted.uses.count; i++)
        if (dataset->counted.uses.items[i].of[use] != TABLE_UNKNOWN)
            return true;
    return false;
}

void report_call_uses_columns(struct table *table, const struct report_dataset *dataset)
{
    for (int i = 0; i < REPORT_CALL_USES; i++)
        if (is_measured(dataset, (enum report_call_use)i))
            report_table_column(table, (struct table_column){.title = uses[i].title,
                                                             .key = uses[i].key,
                                                             .kind = TABLE_COUNT,
                                                             .optional = uses[i].optional});
}

void report_call_uses_cells(struct table *table, const struct report_dataset *dataset,
                            uint32_t function)
{
    /* A function that reading as another mode has added has no figures. */
    const bool is_known = function && function <= dataset->counted.uses.count;
    for (size_t c = 0; c < table->column_count; c++)
        for (int i = 0; i < REPORT_CALL_USES; i++)
            if (table->columns[c].key == uses[i].key)
                report_table_put_count(table, is_known
                                                  ? dataset->counted.uses.items[function - 1].of[i]
                                                  : TABLE_UNKNOWN);
}
