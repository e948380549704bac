/* Reads the time that functions with probes spent outside of the traced modules. */
#include "report/dataset_parts.h"

#include "names/names.h"
#include "report/number_format.h"
#include "report/utf8_text.h"

#include <stdlib.h>

enum { NAMED = 5 };

static int take_function(void *context, int columns, char *const *values, char *const *names)
{
    struct report_dataset *dataset = context;
    (void)names;
    if (columns != 3 || !values[0] || !values[1] || !values[2])
        return 0;
    dataset->counted.has_outside = true;
    const uint32_t function =
        report_dataset_function_of(dataset, (uint32_t)strtoul(values[0], NULL, 10));
    const uint32_t thread =
        report_dataset_number(&dataset->numbers.threads, (uint32_t)strtoul(values[1], NULL, 10));
    if (!dataset->counted.totals.count || !thread || !dataset->threads.items[thread - 1].selected)
        return 0;
    while (function && dataset->counted.outside.count < dataset->functions.count)
        if (sprof_vec_push(&dataset->counted.outside, 0))
            return SPROF_ENOMEM;
    if (function)
        dataset->counted.outside.items[function - 1] += strtoull(values[2], NULL, 10);
    return 0;
}

struct listing {
    struct sprof_str *out;
    size_t count; /* of callees */
};

static int take_callee(void *context, int columns, char *const *values, char *const *names)
{
    struct listing *listing = context;
    char length[NUMBER_BYTES];
    (void)names;
    if (columns != 3 || !values[0] || !values[1] || !values[2] || ++listing->count > NAMED + 1)
        return 0;
    if (listing->count > NAMED)
        return sprof_str_append(listing->out, ", …");
    sprof_str_appendf(listing->out, "%s[%s] ", listing->count > 1 ? ", " : "", values[0]);
    if (names_append(listing->out, values[1], NAMES_SHORT))
        return SPROF_ENOMEM;
    return sprof_str_appendf(listing->out, " %s",
                             report_number_length(length, strtoull(values[2], NULL, 10)));
}

int report_outside_append(struct sprof_str *out, struct store *store, uint32_t run,
                          struct sprof_error *error)
{
    struct listing listing = {.out = out};
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT module, function, self_ns FROM v_outside WHERE run_id = %u AND self_ns > 0 "
             "ORDER BY self_ns DESC, function LIMIT 6",
             run);
    return store_query(store, sql, take_callee, &listing, error);
}

/* Takes the calls of a run that paths have apart from their callers. */
static int take_apart(void *context, int columns, char *const *values, char *const *names)
{
    uint64_t *calls = context;
    (void)names;
    *calls = columns == 1 && values[0] ? strtoull(values[0], NULL, 10) : 0;
    return 0;
}

static int load_run(struct report_loading *loading, uint32_t run, bool *in_self,
                    struct sprof_error *error)
{
    static const char by_function[] =
        "SELECT p.function_id, o.thread_id, sum(o.outside_ns) FROM call_outside o JOIN node_path n "
        "ON "
        "n.node_id = o.node_id JOIN call_path p ON p.id = n.path_id WHERE o.run_id = %u AND "
        "o.outside_ns > 0 GROUP BY 1, 2";
    static const char apart[] =
        "SELECT sum(c.exclusive_samples) FROM path_cost c JOIN call_path p ON p.id = c.path_id "
        "WHERE c.run_id = %u AND p.parent_id IS NOT NULL AND p.function_id IN (SELECT "
        "f.function_id FROM outside_cost o JOIN node_path n ON n.node_id = o.node_id JOIN "
        "call_path f ON f.id = n.path_id WHERE o.run_id = %u)";
    struct report_dataset *dataset = loading->dataset;
    char sql[480];
    uint64_t calls = 0;
    dataset->counted.has_outside = false;
    snprintf(sql, sizeof sql, by_function, run);
    int result = store_query(loading->store, sql, take_function, dataset, error);
    snprintf(sql, sizeof sql, apart, run, run);
    if (!result && dataset->counted.has_outside)
        result = store_query(loading->store, sql, take_apart, &calls, error);
    dataset->counted.outside_calls += calls;
    *in_self |= dataset->counted.has_outside && !calls;
    return result;
}

/* Callees of one whole run alone. */
int report_dataset_load_outside(struct report_loading *loading, struct sprof_error *error)
{
    struct report_dataset *dataset = loading->dataset;
    struct sprof_str callees = {0};
    bool in_self = false;
    int result = 0;
    if (!report_counts_calls(dataset))
        return 0;
    for (size_t i = 0; i < dataset->runs.count && !result; i++)
        result = load_run(loading, dataset->runs.items[i].id, &in_self, error);
    dataset->counted.has_outside = in_self;
    const bool of_part = dataset->chosen.thread || dataset->chosen.process;
    if (!result && dataset->counted.outside.count && dataset->runs.count == 1 && !of_part)
        result = report_outside_append(&callees, loading->store, dataset->runs.items[0].id, error);
    if (!result && callees.length &&
        !(dataset->counted.outside_callees = report_utf8_copy(&dataset->arena, callees.text)))
        result = SPROF_ENOMEM;
    sprof_str_release(&callees);
    return result;
}
