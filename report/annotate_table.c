/* Shows annotated functions as a table of source lines and instructions. */
#include "names/names.h"
#include "report/annotate_parts.h"
#include "report/columns.h"
#include "report/format.h"
#include "report/source_text.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

static void make_columns(struct annotation *annotation)
{
    const struct report_dataset *dataset = annotation->dataset;
    const uint64_t whole = report_dataset_value(dataset, dataset->total);
    const unsigned decimals = report_columns_decimals(dataset, dataset->total);
    const struct table_column columns[] = {
        {.title = "self",
         .key = "exclusive_percent",
         .base = "all",
         .kind = TABLE_PERCENT,
         .whole = whole,
         .decimals = decimals},
        {.title = "total",
         .key = "inclusive_percent",
         .base = "all",
         .kind = TABLE_PERCENT,
         .whole = whole,
         .decimals = decimals},
        {.key = "exclusive_samples", .kind = TABLE_COUNT, .only_data = true},
        {.key = "inclusive_samples", .kind = TABLE_COUNT, .only_data = true},
        {.key = "exclusive_weight", .kind = TABLE_COUNT, .only_data = true},
        {.key = "inclusive_weight", .kind = TABLE_COUNT, .only_data = true},
        {.key = "kind", .kind = TABLE_NAME, .only_data = true},
        {.key = "file", .kind = TABLE_NAME, .only_data = true},
        {.key = "line", .kind = TABLE_COUNT, .only_data = true},
        {.key = "address", .kind = TABLE_NAME, .only_data = true},
        {.title = "code", .key = "code", .kind = TABLE_CODE},
        {.title = "from", .key = "inlined", .kind = TABLE_NAME},
        {.key = "target", .kind = TABLE_NAME, .only_data = true},
        {.key = "function", .kind = TABLE_NAME, .only_data = true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(annotation->table, columns[i]);
}

static const char *format_text(struct annotation *annotation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static const char *format_text(struct annotation *annotation, const char *format, ...)
{
    char text[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = report_utf8_copy(&annotation->dataset->arena, text);
    annotation->table->failed = annotation->table->failed || !kept;
    return kept ? kept : "";
}

struct row {
    const char *kind; /* "source", "instruction"; "" for headings */
    const char *file; /* "" unknown */
    uint32_t line;
    const char *address, *code, *inlined;
    const char *target; /* the function that the instruction jumps to or calls; "" none */
};

static const char *function_of(const struct annotation *annotation)
{
    return report_dataset_function_name(annotation->dataset, annotation->set.items[0]);
}

static void add_row(struct annotation *annotation, const struct model_costs *costs,
                    const struct row *row)
{
    static const struct model_costs none = {0};
    struct table *table = annotation->table;
    const struct report_dataset *dataset = annotation->dataset;
    costs = costs ? costs : &none;
    report_table_put_count(table, report_dataset_value(dataset, costs->exclusive));
    report_table_put_count(table, report_dataset_value(dataset, costs->inclusive));
    report_table_put_count(table, costs->exclusive.samples);
    report_table_put_count(table, costs->inclusive.samples);
    report_table_put_count(table, costs->exclusive.weight);
    report_table_put_count(table, costs->inclusive.weight);
    report_table_put_text(table, row->kind);
    report_table_put_text(table, row->file);
    report_table_put_count(table, row->line);
    report_table_put_text(table, row->address);
    report_table_put_text(table, row->code);
    report_table_put_text(table, row->inlined);
    report_table_put_text(table, row->target);
    report_table_put_text(table, function_of(annotation));
}

static void add_heading(struct annotation *annotation, const char *text)
{
    const struct row row = {"", "", 0, "", text, "", ""};
    if (annotation->options->brief)
        add_row(annotation, NULL, &row);
}

/* A function as it is called here; functions of one name differ in the file and line beside it. */
static const char *shown_name(struct annotation *annotation, const char *name)
{
    struct sprof_str text = {0};
    if (annotation->options->full_names)
        return name;
    names_append(&text, name, NAMES_SHORT);
    const char *shown = report_utf8_keep(&annotation->dataset->arena, &text);
    return shown ? shown : name;
}

static const char *function_name(struct annotation *annotation)
{
    return shown_name(annotation, function_of(annotation));
}

void report_annotation_note(struct annotation *annotation, const char *text)
{
    if (annotation->options->top && !annotation->notes.length)
        sprof_str_appendf(&annotation->notes, "%s: ", function_name(annotation));
    else
        sprof_str_append(&annotation->notes, annotation->notes.length ? "; " : "");
    sprof_str_append(&annotation->notes, text);
}

static int compare_lines(const void *a, const void *b)
{
    const struct annotated_line *first = a, *second = b;
    const int by_file = strcmp(first->file, second->file);
    return by_file ? by_file : first->line < second->line ? -1 : first->line > second->line;
}

static void add_source_line(struct annotation *annotation, const struct report_source *source,
                            const char *file, uint32_t number, const struct annotated_line *line)
{
    const bool there = number && number <= source->lines.count;
    const char *text = there ? source->lines.items[number - 1] : "";
    const struct row row = {
        .kind = "source",
        .file = file,
        .line = number,
        .address = "",
        .code = annotation->options->brief
                    ? format_text(annotation, "%6" PRIu32 "  %.900s", number, text)
                    : text,
        .target = "",
        .inlined =
            line && line->inlined
                ? format_text(annotation, "inlines %.200s",
                              shown_name(annotation, report_dataset_function_name(
                                                         annotation->dataset, line->inlined)))
                : "",
    };
    add_row(annotation, line ? &line->costs : NULL, &row);
}

/* The lines of one file: those that cost something, and what stands around them. */
static void add_file(struct annotation *annotation, const struct report_source *source,
                     const struct annotated_line *lines, size_t line_count)
{
    const uint32_t around = source->lines.count ? annotation->options->context : 0;
    uint32_t next = 1; /* the first line that may be shown */
    for (size_t i = 0; i < line_count; i++) {
        const uint32_t at = lines[i].line;
        uint32_t from = at > around ? at - around : 1;
        const uint32_t stop = i + 1 < line_count ? lines[i + 1].line : UINT32_MAX;
        from = from < next ? next : from;
        if (around && from > next && next > 1)
            add_heading(annotation, "     …");
        for (; from < at; from++)
            add_source_line(annotation, source, lines[i].file, from, NULL);
        add_source_line(annotation, source, lines[i].file, at, &lines[i]);
        for (next = at + 1; next <= at + around && next < stop && next <= source->lines.count;
             next++)
            add_source_line(annotation, source, lines[i].file, next, NULL);
    }
}

static int add_sources(struct annotation *annotation)
{
    struct annotated_line *lines = annotation->lines.items;
    const size_t count = annotation->lines.count;
    const struct report_source_places places = {annotation->options->root,
                                                annotation->options->source_directory,
                                                &annotation->dataset->source_users};
    int result = 0;
    if (count)
        qsort(lines, count, sizeof *lines, compare_lines);
    else
        report_annotation_note(annotation,
                               "there is no debug information about source lines of this function");
    for (size_t first = 0, end; first < count && !result; first = end) {
        struct report_source source;
        struct sprof_error error = {0};
        for (end = first; end < count && !strcmp(lines[end].file, lines[first].file); end++)
            ;
        result =
            report_source_read(&source, &annotation->dataset->arena,
                               report_dataset_file_bytes(annotation->dataset, lines[first].file),
                               &places, annotation->dataset->run.start_realtime_ns, &error);
        if (result && result != SPROF_ENOMEM) {
            report_annotation_note(annotation, error.message);
            result = 0;
        }
        if (source.changed)
            report_annotation_note(
                annotation, format_text(annotation,
                                        "%.400s has changed since it was recorded: lines may be "
                                        "others",
                                        lines[first].file));
        add_heading(annotation, lines[first].file);
        if (!result)
            add_file(annotation, &source, lines + first, end - first);
        report_source_release(&source);
    }
    return result;
}

/* Where an instruction comes from: its line, and the function whose code was put there. */
static const char *origin(struct annotation *annotation, const struct annotated_code *code,
                          size_t index, const char **file, uint32_t *line)
{
    const struct symbolize_result *names = &code->names;
    *file = "";
    *line = 0;
    if (!names->first || names->first[index] == names->first[index + 1])
        return "";
    const struct symbolize_frame *frame = &names->frames[names->first[index]];
    const bool inlined = names->first[index] + 1 < names->first[index + 1];
    const char *name = strrchr(frame->file ? frame->file : "", '/');
    *line = frame->line;
    *file = frame->file ? format_text(annotation, "%s", frame->file) : "";
    if (!frame->file)
        return "";
    return format_text(annotation, "%s:%" PRIu32 "%s%.200s", name ? name + 1 : frame->file,
                       frame->line, inlined ? " inlined " : "",
                       inlined ? shown_name(annotation, names->functions[frame->function].name)
                               : "");
}

static void add_instructions(struct annotation *annotation, const struct annotated_code *code)
{
    const bool brief = annotation->options->brief;
    const uint32_t around = annotation->options->context;
    const char *before = "";
    size_t next = 0, shown = 0;
    for (size_t i = 0; i < code->instructions.count; i++) {
        const struct report_instruction *item = &code->instructions.items[i];
        const struct model_cost cost = code->costs[i].costs.inclusive;
        /* What is near an instruction that cost something is shown. */
        for (size_t k = next > i ? next : i; k <= i + around && k < code->instructions.count; k++) {
            const struct model_cost near = code->costs[k].costs.inclusive;
            if (near.samples || near.weight)
                next = k + around + 1;
        }
        if (brief && i >= next && !cost.samples && !cost.weight)
            continue;
        if (brief && shown && shown < i)
            add_heading(annotation, "     …");
        shown = i + 1;
        struct row row = {.kind = "instruction",
                          .address = format_text(annotation, "0x%" PRIx64, item->vaddr)};
        const char *from = origin(annotation, code, i, &row.file, &row.line);
        const char *target = item->target_name;
        row.target = target ? target : "";
        row.code = !brief   ? item->text
                   : target ? format_text(annotation, "%8" PRIx64 "  %s <%.300s>", item->vaddr,
                                          item->text, shown_name(annotation, target))
                            : format_text(annotation, "%8" PRIx64 "  %s", item->vaddr, item->text);
        row.inlined = brief && !strcmp(from, before) ? "" : from;
        before = from;
        add_row(annotation, &code->costs[i].costs, &row);
    }
}

/* "self 3, total 12 of 40 samples". */
static void append_counts(struct sprof_str *out, const struct annotation *annotation)
{
    const struct report_dataset *dataset = annotation->dataset;
    const uint64_t all = dataset->total.samples;
    sprof_str_appendf(out, "self %s, total %s of %s %s%s",
                      sprof_digits_of(annotation->all.exclusive.samples).text,
                      sprof_digits_of(annotation->all.inclusive.samples).text,
                      sprof_digits_of(all).text, report_counts_calls(dataset) ? "call" : "sample",
                      sprof_plural(all));
}

int report_annotation_begin(struct annotation *annotation, size_t count)
{
    struct report_dataset *dataset = annotation->dataset;
    struct sprof_str title = {0}, note = {0};
    sprof_str_append(&title, "Annotation of ");
    if (annotation->options->top)
        sprof_str_appendf(&title, "the %zu function%s with most self time", count,
                          sprof_plural(count));
    else
        sprof_str_append(&title, function_name(annotation));
    if (!annotation->options->top)
        append_counts(&note, annotation);
    *annotation->table = (struct table){
        .title = report_utf8_keep(&dataset->arena, &title),
        .note = annotation->options->top ? report_columns_base(dataset)
                                         : report_utf8_keep(&dataset->arena, &note),
        .decimals = report_columns_decimals(dataset, dataset->total),
        .blank_zeros = true,
    };
    make_columns(annotation);
    return annotation->table->title && annotation->table->note ? 0 : SPROF_ENOMEM;
}

static void add_name(struct annotation *annotation)
{
    const struct row row = {
        .kind = "",
        .file = "",
        .address = "",
        .code = format_text(annotation, "── %.400s · %.200s", function_name(annotation),
                            annotation->dataset->modules.items[annotation->module - 1].name),
        .inlined = "",
        .target = ""};
    if (!annotation->options->brief)
        return;
    if (report_table_rows(annotation->table))
        add_heading(annotation, "");
    add_row(annotation, &annotation->all, &row);
}

int report_annotation_add(struct annotation *annotation, bool named)
{
    struct report_dataset *dataset = annotation->dataset;
    if (named)
        add_name(annotation);
    int result = annotation->options->no_source ? 0 : add_sources(annotation);
    for (size_t i = 0; i < annotation->codes.count && !result; i++) {
        const struct annotated_code *code = &annotation->codes.items[i];
        const char *part = dataset->functions.items[code->function - 1].part;
        add_heading(annotation,
                    format_text(annotation, "%s: %.200s%s0x%" PRIx64 ", %" PRIu64 " bytes",
                                dataset->modules.items[annotation->module - 1].name,
                                part ? part : "", part ? ", " : "", code->start,
                                code->end - code->start));
        add_instructions(annotation, code);
    }
    return result || annotation->table->failed || annotation->notes.failed ? SPROF_ENOMEM : 0;
}
