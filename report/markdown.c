/* Tables and rows of statements in GitHub's flavour of Markdown, for a comment or a wiki. */
#include "report/format.h"

#include "report/number_format.h"
#include "report/quality.h"

#include <string.h>

/* A cell must stay one cell, and what looks like markup must stay text. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '\n')
            fputc(' ', out);
        else {
            if (strchr("\\`*_|[]~", *text))
                fputc('\\', out);
            fputc(*text, out);
        }
    }
}

static void put_cell(FILE *out, const struct table *table, size_t row, size_t c)
{
    const struct table_column *column = &table->columns[c];
    const union table_cell *cell = report_table_cell(table, row, c);
    char number[NUMBER_BYTES];
    if (table->blank_zeros && !report_column_is_text(column) && !cell->count)
        return;
    if (report_cell_is_unknown(column, cell)) {
        fputs("–", out);
        return;
    }
    switch (column->kind) {
    case TABLE_NUMBER:
    case TABLE_ADDRESS: fputs(report_table_number(number, column, cell), out); break;
    case TABLE_CODE:
        fputc('`', out);
        for (const char *at = cell->text; *at; at++)
            fputs(*at == '`' ? "'" : *at == '|' ? "\\|" : (char[]){*at, '\0'}, out);
        fputc('`', out);
        break;
    case TABLE_PERCENT:
        fputs(report_number_percent(number, cell->count, column->whole, column->decimals), out);
        break;
    case TABLE_TIME:
        fputs(report_number_time(number, cell->count, table->time_unit_ns), out);
        break;
    case TABLE_NS:
    case TABLE_LENGTH: fputs(report_number_length(number, cell->count), out); break;
    case TABLE_MOMENT: fputs(report_number_moment(number, cell->count), out); break;
    case TABLE_INTERVAL: fprintf(out, "%.*f", (int)table->decimals, cell->points); break;
    case TABLE_COUNT: fputs(sprof_digits_of(cell->count).text, out); break;
    case TABLE_PATH:
        for (uint32_t level = 0; level < table->places.items[row].depth; level++)
            fputs("&nbsp;&nbsp;", out);
        put_text(out, cell->text);
        if (table->places.items[row].mark)
            put_text(out, table->places.items[row].mark);
        break;
    case TABLE_NAME: put_text(out, cell->text); break;
    }
}

static int write_table(FILE *out, const struct report_content *content)
{
    const struct table *table = content->table;
    struct quality_parts notes = {0};
    if (table->title) {
        fputs("**", out);
        put_text(out, table->title);
        fputs("**", out);
    }
    if (table->note) {
        fputs(" (", out);
        put_text(out, table->note);
        fputc(')', out);
    }
    fputs(table->title ? "\n\n|" : "|", out);
    for (size_t c = 0; c < table->shown_count; c++)
        if (!table->columns[table->shown[c]].only_data) {
            const char *group = table->columns[table->shown[c]].group;
            fprintf(out, " %s%s", group ? group : "", group ? " " : "");
            put_text(out, table->columns[table->shown[c]].title);
            fputs(" |", out);
        }
    fputs("\n|", out);
    for (size_t c = 0; c < table->shown_count; c++)
        if (!table->columns[table->shown[c]].only_data)
            fputs(report_column_is_text(&table->columns[table->shown[c]]) ? "---|" : "--:|", out);
    for (size_t r = 0; r < report_table_rows(table); r++) {
        fputs("\n|", out);
        for (size_t c = 0; c < table->shown_count; c++)
            if (!table->columns[table->shown[c]].only_data) {
                fputc(' ', out);
                put_cell(out, table, r, table->shown[c]);
                fputs(" |", out);
            }
    }
    fputs("\n", out);
    if (table->left_out) {
        fputc('\n', out);
        put_text(out, table->left_out);
        fputc('\n', out);
    }
    if (content->dataset && report_quality_notes(content->dataset, &notes))
        return SPROF_ENOMEM;
    struct sprof_str about = {0};
    const int result = report_table_append_about(table, NULL, &about);
    if (about.length) {
        fputs("\n", out);
        put_text(out, about.text);
    }
    for (size_t i = 0; i < table->notes.count; i++) {
        fputs(i || about.length ? "  \n" : "\n", out);
        put_text(out, table->notes.items[i]);
    }
    for (size_t i = 0; i < notes.count; i++) {
        fputs(i ? "  \n" : "\n", out);
        put_text(out, notes.items[i]);
    }
    if (notes.count || table->notes.count || about.length)
        fputc('\n', out);
    sprof_str_release(&about);
    return result;
}

struct rows {
    FILE *out;
    bool begun;
};

static void put_row(FILE *out, int columns, char *const *values)
{
    fputc('|', out);
    for (int c = 0; c < columns; c++) {
        fputc(' ', out);
        put_text(out, values[c] ? values[c] : "");
        fputs(" |", out);
    }
    fputc('\n', out);
}

static int take_row(void *context, int columns, char *const *values, char *const *names)
{
    struct rows *rows = context;
    if (!rows->begun) {
        put_row(rows->out, columns, names);
        fputc('|', rows->out);
        for (int c = 0; c < columns; c++)
            fputs("---|", rows->out);
        fputc('\n', rows->out);
    }
    rows->begun = true;
    put_row(rows->out, columns, values);
    return 0;
}

int report_markdown_write(FILE *out, const struct report_content *content,
                          struct sprof_error *error)
{
    struct rows rows = {.out = out};
    if (content->kind == REPORT_ROWS)
        return store_query(content->store, content->sql, take_row, &rows, error);
    return write_table(out, content);
}
