/* Writes which functions of a run were called, of runs that looked for nothing else. */
#include "names/names.h"
#include "report/html/page.h"
#include "report/utf8_text.h"

#include <string.h>

/* More rows would make the page too large; what was not called comes first. */
enum { FUNCTIONS_MOST = 10000 };

struct covered {
    const char *name, *module, *file;
    uint32_t line;
    bool executed;
    uint64_t first_ns;
};

struct coverage {
    struct sprof_arena arena;
    SPROF_VEC(struct covered) rows;
};

static int add_row(void *context, int columns, char *const *values, char *const *names)
{
    struct coverage *coverage = context;
    (void)names;
    if (columns != 6 || !values[0] || !values[1])
        return 0;
    const struct covered row = {
        .name = report_utf8_copy(&coverage->arena, values[0]),
        .module = report_utf8_copy(&coverage->arena, values[1]),
        .executed = values[2] && *values[2] == '1',
        .first_ns = values[3] ? strtoull(values[3], NULL, 10) : 0,
        .file = report_utf8_copy(&coverage->arena, values[4] ? values[4] : ""),
        .line = values[5] ? (uint32_t)strtoul(values[5], NULL, 10) : 0,
    };
    return row.name && row.module && row.file ? sprof_vec_push(&coverage->rows, row) : SPROF_ENOMEM;
}

/* [name, full name or null, module, first call in ns or null, file, line, where the last component
 * of the name and of the full name begins] */
static void put_row(struct json *json, const struct covered *row, const char *shown)
{
    report_json_open_array(json, NULL);
    report_json_text(json, NULL, shown);
    report_json_text(json, NULL, strcmp(shown, row->name) ? row->name : NULL);
    report_json_text(json, NULL, row->module);
    if (row->executed)
        report_json_count(json, NULL, row->first_ns);
    else
        report_json_text(json, NULL, NULL);
    report_json_text(json, NULL, row->file);
    report_json_count(json, NULL, row->line);
    report_json_count(json, NULL, report_html_last_component(shown));
    report_json_count(json, NULL, report_html_last_component(row->name));
    report_json_close_array(json);
}

static int put_rows(struct json *json, struct coverage *coverage, size_t run)
{
    const size_t count = coverage->rows.count;
    const char **names = malloc((count + 1) * sizeof *names);
    size_t executed = 0;
    for (size_t i = 0; names && i < count; i++) {
        names[i] = coverage->rows.items[i].name;
        executed += coverage->rows.items[i].executed;
    }
    const int result = names ? names_shorten(&coverage->arena, names, count, names) : SPROF_ENOMEM;
    report_json_open_object(json, NULL);
    report_json_count(json, "run", run);
    report_json_count(json, "functions", count);
    report_json_count(json, "called", executed);
    report_json_open_array(json, "rows");
    for (size_t i = 0; i < count && i < FUNCTIONS_MOST && !result; i++)
        put_row(json, &coverage->rows.items[i], names[i]);
    report_json_close_array(json);
    report_json_close_object(json);
    free(names);
    return result;
}

static int put_run(struct html_page *page, const struct html_part *part, uint32_t run_id,
                   size_t run)
{
    struct coverage coverage = {0};
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT function, module, executed, first_ns, file, line FROM v_coverage WHERE "
             "run_id = %u ORDER BY executed, module, first_ns, function",
             run_id);
    int result = store_query(part->input->store, sql, add_row, &coverage, page->error);
    if (!result && coverage.rows.count)
        result = put_rows(&page->json, &coverage, run);
    sprof_vec_release(&coverage.rows);
    sprof_arena_release(&coverage.arena);
    return result;
}

int report_html_coverage(struct html_page *page)
{
    size_t run = 0;
    int result = 0;
    report_json_open_array(&page->json, "coverage");
    for (size_t i = 0; i < page->part_count && !result; i++)
        for (size_t k = 0; k < page->parts[i].runs.count && !result; k++)
            result = put_run(page, &page->parts[i], page->parts[i].runs.items[k], run++);
    report_json_close_array(&page->json);
    return result;
}
