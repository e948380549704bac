/* Writes the way of the drill-downs of each run: its steps, and the probes that came and went. */
#include "report/html/page.h"
#include "report/utf8_text.h"

#include <stdlib.h>

enum { PROBES_MOST = 2000 };

struct drill {
    struct html_part *part;
    struct json *json;
};

/* Clean, in the arena of the dataset; "" where memory ran out. */
static const char *clean(const struct drill *drill, const char *text)
{
    const char *copy = report_utf8_copy(&drill->part->dataset.arena, text ? text : "");
    return copy ? copy : "";
}

static void put_number(struct json *json, const char *value)
{
    if (value)
        report_json_count(json, NULL, strtoull(value, NULL, 10));
    else
        report_json_null(json, NULL);
}

/* [when it began, its mark] */
static int put_step(void *context, int columns, char *const *values, char *const *names)
{
    const struct drill *drill = context;
    (void)names;
    if (columns != 2 || !values[0] || !values[1])
        return 0;
    report_json_open_array(drill->json, NULL);
    put_number(drill->json, values[0]);
    report_json_text(drill->json, NULL, clean(drill, values[1]));
    report_json_close_array(drill->json);
    return 0;
}

/* [name, index of its function or null, when its probe came, when it went or null, calls, total,
 * self] */
static int put_probe(void *context, int columns, char *const *values, char *const *names)
{
    const struct drill *drill = context;
    (void)names;
    if (columns != 7 || !values[0] || !values[1] || !values[2])
        return 0;
    const uint32_t function =
        report_dataset_function_of(&drill->part->dataset, (uint32_t)strtoul(values[1], NULL, 10));
    report_json_open_array(drill->json, NULL);
    report_json_text(drill->json, NULL, clean(drill, values[0]));
    if (function)
        report_json_count(drill->json, NULL, drill->part->first_function + function - 1);
    else
        report_json_null(drill->json, NULL);
    for (int i = 2; i < columns; i++)
        put_number(drill->json, values[i]);
    report_json_close_array(drill->json);
    return 0;
}

static const char steps_sql[] =
    "SELECT start_ns, mark FROM v_phase WHERE run_id = %u AND (mark GLOB 'step [0-9]*: below ?*' "
    "OR "
    "mark GLOB 'culprit: ?*' OR mark GLOB '?*: the drill-down has ended') ORDER BY start_ns";
/* A probe that came back has gone only where it went again. */
static const char probes_sql[] =
    "WITH events AS (SELECT function_id, max(function) AS function,"
    " min(iif(what = 'in', time_ns, NULL)) AS first_in, max(iif(what = 'in', time_ns, NULL)) AS"
    " last_in, max(iif(what IN ('out', 'rests', 'off') AND cause IN ('adaptive', 'command'),"
    " time_ns, NULL)) AS gone FROM v_probe_event WHERE run_id = %1$u AND function_id IS NOT NULL"
    " GROUP BY function_id)"
    "SELECT e.function, e.function_id, e.first_in, iif(e.gone > e.last_in, e.gone, NULL),"
    " c.calls, c.total_ns, c.self_ns FROM events e LEFT JOIN v_call_stats c ON c.run_id = %1$u AND"
    " c.function_id = e.function_id WHERE e.first_in IS NOT NULL"
    " ORDER BY e.first_in, c.total_ns DESC, e.function LIMIT %2$d";

static int put_run(struct html_page *page, struct html_part *part, uint32_t run_id, size_t run)
{
    struct drill drill = {part, &page->json};
    struct json *json = &page->json;
    char sql[1024];
    report_json_open_object(json, NULL);
    report_json_count(json, "run", run);
    report_json_open_array(json, "steps");
    snprintf(sql, sizeof sql, steps_sql, run_id);
    int result = store_query(part->input->store, sql, put_step, &drill, page->error);
    report_json_close_array(json);
    report_json_open_array(json, "probes");
    snprintf(sql, sizeof sql, probes_sql, run_id, PROBES_MOST);
    if (!result)
        result = store_query(part->input->store, sql, put_probe, &drill, page->error);
    report_json_close_array(json);
    report_json_close_object(json);
    return result;
}

static int note(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)values;
    (void)names;
    *(bool *)context = true;
    return 0;
}

int report_html_drills(struct html_page *page)
{
    size_t run = 0;
    int result = 0;
    report_json_open_array(&page->json, "drills");
    for (size_t i = 0; i < page->part_count && !result; i++) {
        struct html_part *part = &page->parts[i];
        for (size_t k = 0; k < part->runs.count && !result; k++, run++) {
            char sql[sizeof steps_sql + 16];
            bool has_steps = false;
            snprintf(sql, sizeof sql, steps_sql, part->runs.items[k]);
            result = store_query(part->input->store, sql, note, &has_steps, page->error);
            if (!result && has_steps)
                result = put_run(page, part, part->runs.items[k], run);
        }
    }
    report_json_close_array(&page->json);
    return result;
}
