/* Reads the time that functions with probes spent outside of the traced modules. */
#include "report/dataset_parts.h"
#include "report/number_format.h"
#include "report/utf8_text.h"

#include <stdlib.h>

enum { NAMED = 5 };

struct reading {
    struct report_dataset *dataset;
    struct sprof_str callees;
    size_t count; /* of them */
};

static int take_function(void *context, int columns, char *const *values, char *const *names)
{
    const struct reading *reading = context;
    struct report_dataset *dataset = reading->dataset;
    (void)names;
    const uint32_t id = columns == 2 && values[0] ? (uint32_t)strtoul(values[0], NULL, 10) : 0;
    const uint32_t function = id ? report_dataset_function_of(dataset, id) : 0;
    while (function && dataset->call_outside.count < dataset->functions.count)
        if (sprof_vec_push(&dataset->call_outside, 0))
            return SPROF_ENOMEM;
    if (function && values[1])
        dataset->call_outside.items[function - 1] += strtoull(values[1], NULL, 10);
    return 0;
}

static int take_callee(void *context, int columns, char *const *values, char *const *names)
{
    struct reading *reading = context;
    char length[NUMBER_BYTES];
    (void)names;
    if (columns != 2 || !values[0] || !values[1] || ++reading->count > NAMED + 1)
        return 0;
    if (reading->count > NAMED)
        return sprof_str_append(&reading->callees, ", …");
    return sprof_str_appendf(&reading->callees, "%s%s %s", reading->callees.length ? ", " : "",
                             values[0],
                             report_number_length(length, strtoull(values[1], NULL, 10)));
}

/* Of whole runs alone; callees of one. */
int report_dataset_load_outside(struct report_loading *loading, struct sprof_error *error)
{
    static const char by_function[] =
        "SELECT p.function_id, sum(o.outside_ns) FROM call_outside o JOIN node_path n ON "
        "n.node_id = o.node_id JOIN call_path p ON p.id = n.path_id WHERE o.run_id = %u AND "
        "o.outside_ns > 0 GROUP BY p.function_id";
    static const char by_callee[] =
        "SELECT '[' || module || '] ' || function, sum(self_ns) FROM v_outside WHERE run_id = %u "
        "GROUP BY 1 HAVING sum(self_ns) > 0 ORDER BY 2 DESC, 1 LIMIT 6";
    struct report_dataset *dataset = loading->dataset;
    struct reading reading = {.dataset = dataset};
    char sql[320];
    int result = 0;
    if (!dataset->call_totals.count || dataset->thread || dataset->process)
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++) {
        snprintf(sql, sizeof sql, by_function, dataset->runs.items[i].id);
        result = store_query(loading->store, sql, take_function, &reading, error);
    }
    if (!result && dataset->call_outside.count && dataset->runs.count == 1) {
        snprintf(sql, sizeof sql, by_callee, dataset->runs.items[0].id);
        result = store_query(loading->store, sql, take_callee, &reading, error);
    }
    if (!result && reading.callees.length &&
        !(dataset->outside_callees = report_utf8_copy(&dataset->arena, reading.callees.text)))
        result = SPROF_ENOMEM;
    sprof_str_release(&reading.callees);
    return result;
}
