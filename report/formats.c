/* The table of formats: one line each. */
#include "report/format.h"

#include "report/error_text.h"
#include "report/export/export.h"
#include "report/output_close.h"

#include <assert.h>
#include <string.h>

static const struct report_format formats[] = {
    {"text", ".txt", REPORT_TABLE | REPORT_SAMPLES | REPORT_ROWS, true, false, report_text_write,
     0},
    {"csv", ".csv", REPORT_TABLE | REPORT_SAMPLES | REPORT_ROWS, false, false, report_csv_write, 0},
    {"json", ".json", REPORT_TABLE | REPORT_SAMPLES | REPORT_ROWS, false, false, report_json_write,
     0},
    {"markdown", ".md", REPORT_TABLE | REPORT_ROWS, true, false, report_markdown_write, 0},
    {"folded", ".folded", REPORT_PROFILE, false, false, report_folded_write, REPORT_KEYS_AS_FRAMES},
    {"pprof", ".pb.gz", REPORT_PROFILE, false, false, report_pprof_write, REPORT_KEYS_AS_LABELS},
    {"speedscope", ".speedscope.json", REPORT_PROFILE, false, false, report_speedscope_write, 0},
    {"firefox", ".firefox.json", REPORT_PROFILE, false, false, report_firefox_write, 0},
    {"callgrind", ".callgrind", REPORT_PROFILE, false, false, report_callgrind_write, 0},
    {"chrome", ".trace.json", REPORT_PROFILE, false, false, report_chrome_write, 0},
    {"otlp-traces", ".otlp.json", REPORT_PROFILE, false, false, report_otlp_traces_write, 0},
    {"otlp-traces-protobuf", ".traces.pb", REPORT_PROFILE, false, false,
     report_otlp_traces_packed_write, 0},
    {"otlp-profiles", ".otlp.pb", REPORT_PROFILE, false, false, report_otlp_profiles_write, 0},
    {"tsv", ".tsv", REPORT_PROFILE, false, false, report_tsv_write, 0},
    {"svg", ".svg", REPORT_PROFILE, false, false, report_svg_write, REPORT_KEYS_AS_FRAMES},
    {"dot", ".dot", REPORT_PROFILE, false, false, report_dot_write, 0},
    {"lcov", ".info", REPORT_PROFILE, false, true, report_lcov_write, 0},
    {"rows", ".rows", REPORT_FLEET, false, false, NULL, 0},
    {0},
};

const struct report_format *report_formats(void)
{
    return formats;
}

const struct report_format *report_format_find(const char *name, enum report_kind kind,
                                               struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (const struct report_format *format = formats; format->name; format++) {
        if (!(format->kinds & kind))
            continue;
        if (!strcmp(format->name, name)) {
            sprof_str_release(&names);
            return format;
        }
        sprof_str_appendf(&names, "%s%s", names.length ? ", " : "", format->name);
    }
    sprof_error_set(error, SPROF_EUSAGE, 0, "choose one of %s", names.text ? names.text : "none");
    sprof_str_release(&names);
    return NULL;
}

bool report_format_takes_labels(const struct report_format *format)
{
    return format->kinds & REPORT_FLEET || format->write == report_otlp_profiles_write ||
           format->write == report_otlp_traces_write ||
           format->write == report_otlp_traces_packed_write;
}

int report_content_write(FILE *out, const struct report_content *content,
                         const struct report_style *style, struct sprof_error *error)
{
    const struct report_format *format = style->format ? style->format : formats;
    struct report_content styled = *content;
    styled.columns = style->columns ? style->columns : 100;
    styled.color = style->color;
    styled.verbose = style->verbose;
    assert(format->kinds & content->kind);
    const int result = format->write(out, &styled, error);
    return result ? report_error_code(result, error) : report_output_close(out, error);
}

int report_table_write(FILE *out, struct table *table, struct sprof_arena *arena, const char *show,
                       const struct report_style *style, struct sprof_error *error)
{
    const bool brief = !style->format || style->format->brief;
    const struct report_content content = {.kind = REPORT_TABLE, .table = table};
    int result = report_table_show(table, show, error);
    if (!result && brief && !style->full_names)
        result = report_table_shorten(table, arena);
    return result ? report_error_code(result, error)
                  : report_content_write(out, &content, style, error);
}
