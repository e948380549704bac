/* Writes what a page says of calls beyond their paths: total times, averages and percentiles, and
 * what they use beside time. */
#include "report/html/page.h"

struct figures {
    struct json *json;
    const struct html_part *part;
};

/* [function, average, p50, p99, max, outside], in ns, then bytes of stack, allocated by it, and
 * with what it calls, and blocks; null what is not known. */
static int put_figures(void *context, int columns, char *const *values, char *const *names)
{
    const struct figures *figures = context;
    (void)names;
    const uint32_t id = columns && values[0] ? (uint32_t)strtoull(values[0], NULL, 10) : 0;
    const uint32_t function = report_dataset_function_of(&figures->part->dataset, id);
    if (!function)
        return 0;
    report_json_open_array(figures->json, NULL);
    report_json_count(figures->json, NULL, figures->part->first_function + function - 1);
    for (int i = 1; i < columns; i++)
        if (values[i])
            report_json_count(figures->json, NULL, (uint64_t)strtod(values[i], NULL));
        else
            report_json_text(figures->json, NULL, NULL);
    report_json_close_array(figures->json);
    return 0;
}

/* Calls of the whole run, by function. */
static int put_run_figures(struct html_page *page, const struct html_part *part)
{
    struct figures figures = {.json = &page->json, .part = part};
    char sql[280];
    snprintf(sql, sizeof sql,
             "SELECT function_id, average_ns, p50_ns, p99_ns, max_ns, nullif(outside_ns, 0), "
             "stack_bytes, heap_self_bytes, "
             "heap_total_bytes, allocations FROM v_call_stats WHERE run_id = %u",
             part->dataset.run.id);
    report_json_open_array(&page->json, "figures");
    const int result = store_query(part->input->store, sql, put_figures, &figures, page->error);
    report_json_close_array(&page->json);
    return result;
}

/* Total times of calls. Their paths have them only where all of the calls were measured. */
int report_html_calls(struct html_page *page)
{
    struct json *json = &page->json;
    int result = 0;
    report_json_open_array(json, "callTotals");
    for (struct html_part *part = page->parts; part < page->parts + page->part_count && !result;
         part++) {
        const struct report_dataset *dataset = &part->dataset;
        const uint64_t *event = sprof_map_get(&part->events, dataset->event.id);
        if (!event || !report_counts_calls(dataset))
            continue;
        report_json_open_object(json, NULL);
        report_json_count(json, "event", *event);
        report_json_bool(json, "paths", report_dataset_has_paths(dataset));
        report_json_bool(json, "selfHoldsOutside", dataset->counted.has_outside);
        report_json_count(json, "first", part->first_function);
        report_json_open_array(json, "totals");
        for (size_t i = 0; i < dataset->counted.totals.count; i++)
            report_json_count(json, NULL, dataset->counted.totals.items[i]);
        report_json_close_array(json);
        result = put_run_figures(page, part);
        report_json_close_object(json);
    }
    report_json_close_array(json);
    return result;
}
