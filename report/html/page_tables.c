/* Writes tables of reports, as JSON in one text, and the lines of each run. */
#include "report/html/page.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1000 }; /* of a run */

int report_html_table(struct html_page *page, const char *name,
                      int (*write)(FILE *out, const void *context, struct sprof_error *error),
                      const void *context)
{
    struct sprof_error none = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    int result = memory ? write(memory, context, &none) : SPROF_ENOMEM;
    if (memory && fclose(memory))
        result = SPROF_ENOMEM;
    /* Texts in a page have one line. */
    for (char *at = text; !result && (at = strchr(at, '\n'));)
        *at = ' ';
    if (!result)
        report_json_text(&page->json, name, text);
    free(text);
    return result == SPROF_ENOMEM ? result : 0;
}

struct asked {
    struct store *store;
    const struct report_request *request;
};

static int write_report(FILE *out, const void *context, struct sprof_error *error)
{
    const struct asked *asked = context;
    return report_write(out, asked->store, asked->request, error);
}

int report_html_report(struct html_page *page, const struct html_part *part, const char *name,
                       const struct report_request *request)
{
    struct report_request json = *request;
    const struct asked asked = {part->input->store, &json};
    json.style.format = report_format_find("json", REPORT_TABLE, page->error);
    return json.style.format ? report_html_table(page, name, write_report, &asked) : SPROF_ENOMEM;
}

int report_html_lines(struct html_page *page)
{
    static const enum report_key keys[] = {REPORT_LINE};
    int result = 0;
    report_json_open_array(&page->json, "lines");
    for (struct html_part *part = page->parts;
         part < page->parts + page->part_count && !result && !page->options->no_source; part++)
        for (size_t i = 0; i < part->runs.count && !result; i++) {
            const struct report_request request = {
                .selection = {.run_id = part->runs.items[i],
                              .parts_apart = page->options->parts_apart},
                .table = {.keys = keys,
                          .key_count = 1,
                          .limit = LINES_MOST / page->runs + 100,
                          .show = "exclusive_percent,inclusive_percent,file,line,function,module"}};
            report_json_open_object(&page->json, NULL);
            if (!report_counts_calls(&part->dataset))
                result = report_html_report(page, part, "table", &request);
            report_json_close_object(&page->json);
        }
    report_json_close_array(&page->json);
    return result;
}
