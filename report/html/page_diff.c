/* Writes what differs between the first recording and the last one, by all of their runs. */
#include "report/html/page.h"

enum { ROWS_MOST = 2000 };

struct side {
    SPROF_VEC(struct report_diff_run) runs;
};

static int add_runs(struct side *side, const struct html_part *part)
{
    int result = 0;
    for (size_t i = 0; i < part->runs.count && !result; i++) {
        const struct report_diff_run run = {part->input->store, part->runs.items[i]};
        result = sprof_vec_push(&side->runs, run);
    }
    return result;
}

struct asked {
    const struct report_diff *diff;
    const struct report_style *style;
};

static int write_diff(FILE *out, const void *context, struct sprof_error *error)
{
    const struct asked *asked = context;
    enum report_diff_outcome outcome;
    char why[512];
    return report_diff(out, asked->diff, asked->style, &outcome, why, error);
}

static int put_tables(struct html_page *page, const struct side *sides)
{
    struct report_diff diff = {
        .runs = {sides[0].runs.items, sides[1].runs.items},
        .counts = {sides[0].runs.count, sides[1].runs.count},
        .selection = {.parts_apart = page->options->parts_apart},
        .all_rows = true,
        .limit = ROWS_MOST,
        .renamed = page->options->renamed,
    };
    struct report_style style = {.format = report_format_find("json", REPORT_TABLE, page->error)};
    const struct asked asked = {&diff, &style};
    int result = style.format ? 0 : SPROF_ENOMEM;
    for (int i = 0; i < 4 && !result; i++) {
        static const char *const names[] = {"run self", "run total", "sample self", "sample total"};
        diff.per = i < 2 ? REPORT_PER_RUN : REPORT_PER_SAMPLE;
        diff.inclusive = i % 2;
        result = report_html_table(page, names[i], write_diff, &asked);
    }
    return result;
}

int report_html_differences(struct html_page *page)
{
    struct side sides[2] = {0};
    int result = 0;
    report_json_open_object(&page->json, "differences");
    if (page->part_count > 1) {
        result = add_runs(&sides[0], &page->parts[0]);
        if (!result)
            result = add_runs(&sides[1], &page->parts[page->part_count - 1]);
        if (!result && sides[0].runs.count + sides[1].runs.count > 2)
            result = put_tables(page, sides);
    }
    report_json_close_object(&page->json);
    report_json_open_array(&page->json, "renamed");
    for (const char *const *name = page->options->renamed; name && *name; name++)
        report_json_text(&page->json, NULL, *name);
    report_json_close_array(&page->json);
    sprof_vec_release(&sides[0].runs);
    sprof_vec_release(&sides[1].runs);
    return result;
}
