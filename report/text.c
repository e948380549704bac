/* Text for people: tables, with the quality of their data below. */
#include "report/format.h"
#include "report/number_format.h"
#include "report/quality.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

/* Deeper levels of a tree are not indented further; their depth is written instead. */
enum {
    LEVELS_DRAWN = 8,
    INDENT = 2,
    GAP = 2,
    WIDE_GAP = 4,
    LEAST_NAME = 12,
    LEAST_SECOND_NAME = 20,
    NOTE_COLUMN = 45
};

struct page {
    const struct table *table;
    size_t widths[TABLE_COLUMNS];
    struct sprof_str line, cell;
    bool color;
};

static bool is_text(const struct table_column *column)
{
    return column->kind == TABLE_NAME || column->kind == TABLE_PATH;
}

static int put_branch(struct sprof_str *out, const struct table_place *place)
{
    if (!place->depth)
        return 0;
    const uint32_t above = place->depth - 1;
    int result = 0;
    for (uint32_t level = 1; level <= above && level <= LEVELS_DRAWN && !result; level++)
        result = sprof_str_append(out, place->bars >> level & 1 ? "│ " : "  ");
    if (!result && above > LEVELS_DRAWN)
        result = sprof_str_appendf(out, "…%u ", place->depth + 1);
    return result ? result : sprof_str_append(out, place->last ? "└ " : "├ ");
}

/* A function's name behind its branch, of which nothing is cut: it holds the depth. */
static int put_path(struct sprof_str *out, const struct table_row *row, const char *name,
                    size_t width)
{
    if (put_branch(out, &row->place))
        return SPROF_ENOMEM;
    const size_t branch = out->text ? report_utf8_width(out->text) : 0;
    return report_utf8_shortened(out, name, branch < width ? width - branch : 1);
}

/* The text of a cell; paths at most `width` wide, others not yet cut. */
static int put_cell(struct sprof_str *out, const struct table *table, const struct table_row *row,
                    size_t index, size_t width)
{
    const struct table_cell *cell = &row->cells[index];
    char number[NUMBER_BYTES];
    switch (table->columns[index].kind) {
    case TABLE_COUNT: return sprof_str_appendf(out, "%llu", (unsigned long long)cell->part);
    case TABLE_PERCENT:
        return sprof_str_append(
            out, report_number_percent(number, cell->part, cell->whole, table->decimals));
    case TABLE_INTERVAL: return sprof_str_appendf(out, "%.*f", (int)table->decimals, cell->points);
    case TABLE_TIME:
        return sprof_str_append(out, report_number_time(number, cell->part, table->time_unit_ns));
    case TABLE_NAME: return sprof_str_append(out, cell->text);
    case TABLE_PATH: return put_path(out, row, cell->text, width);
    }
    return 0;
}

static int measure_columns(struct page *page)
{
    const struct table *table = page->table;
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].only_data)
            continue;
        page->widths[c] = report_utf8_width(table->columns[c].title);
        for (size_t r = 0; r < table->rows.count; r++) {
            sprof_str_clear(&page->cell);
            if (put_cell(&page->cell, table, &table->rows.items[r], c, SIZE_MAX))
                return SPROF_ENOMEM;
            const size_t width = report_utf8_width(page->cell.text);
            page->widths[c] = width > page->widths[c] ? width : page->widths[c];
        }
    }
    return 0;
}

/* The space before a column that is not the first. */
static size_t gap_before(const struct table_column *column)
{
    return column->apart ? WIDE_GAP : GAP;
}

/* What all columns take together. */
static size_t page_width(const struct page *page)
{
    size_t width = 0;
    for (size_t c = 0; c < page->table->column_count; c++)
        if (!page->table->columns[c].only_data)
            width += (width ? gap_before(&page->table->columns[c]) : INDENT) + page->widths[c];
    return width;
}

/* The widest text column from `first` on; TABLE_COLUMNS where there is none. */
static size_t widest_text(const struct page *page, size_t first)
{
    size_t widest = TABLE_COLUMNS;
    for (size_t c = first; c < page->table->column_count; c++) {
        const struct table_column *column = &page->table->columns[c];
        if (is_text(column) && !column->only_data &&
            (widest == TABLE_COLUMNS || page->widths[c] > page->widths[widest]))
            widest = c;
    }
    return widest;
}

/* Takes columns from the widest text until the page fits or that text is as narrow as `least`. */
static void narrow_from(struct page *page, size_t first, size_t least, size_t columns)
{
    size_t widest;
    while (page_width(page) > columns && (widest = widest_text(page, first)) < TABLE_COLUMNS &&
           page->widths[widest] > least)
        page->widths[widest]--;
}

static size_t first_text(const struct page *page)
{
    size_t c = 0;
    while (c < page->table->column_count && !is_text(&page->table->columns[c]))
        c++;
    return c;
}

/* The first text is what the table is about: the others give way before it. */
static void narrow(struct page *page, size_t columns)
{
    narrow_from(page, first_text(page) + 1, LEAST_SECOND_NAME, columns);
    narrow_from(page, 0, LEAST_NAME, columns);
}

static int end_line(struct page *page, FILE *out, const char *style)
{
    struct sprof_str *line = &page->line;
    while (line->length && line->text[line->length - 1] == ' ')
        line->text[--line->length] = '\0';
    if (page->color && style)
        fprintf(out, "\033[%sm%s\033[0m\n", style, line->text);
    else
        fprintf(out, "%s\n", line->text);
    sprof_str_clear(line);
    return 0;
}

static int put_fitted(struct page *page, size_t column, const char *text)
{
    const bool first = page->line.length == 0;
    if (report_utf8_spaces(&page->line, first ? INDENT : gap_before(&page->table->columns[column])))
        return SPROF_ENOMEM;
    return is_text(&page->table->columns[column])
               ? report_utf8_left(&page->line, text, page->widths[column])
               : report_utf8_right(&page->line, text, page->widths[column]);
}

static int write_titles(struct page *page, FILE *out)
{
    const struct table *table = page->table;
    for (size_t c = 0; c < table->column_count; c++)
        if (!table->columns[c].only_data && put_fitted(page, c, table->columns[c].title))
            return SPROF_ENOMEM;
    return end_line(page, out, "1");
}

/* The line above the titles: each group where its first column begins. */
static int write_groups(struct page *page, FILE *out)
{
    const struct table *table = page->table;
    const char *group = NULL;
    size_t at = 0;
    bool any = false;
    for (size_t c = 0; c < table->column_count; c++) {
        const struct table_column *column = &table->columns[c];
        if (column->only_data)
            continue;
        at += at ? gap_before(column) : INDENT;
        if (column->group && (!group || strcmp(group, column->group))) {
            const size_t so_far = page->line.text ? report_utf8_width(page->line.text) : 0;
            if (report_utf8_spaces(&page->line, at > so_far ? at - so_far : 1) ||
                sprof_str_append(&page->line, column->group))
                return SPROF_ENOMEM;
            any = true;
        }
        group = column->group;
        at += page->widths[c];
    }
    return any ? end_line(page, out, "1") : 0;
}

static int write_title(struct page *page, FILE *out)
{
    if (!page->table->title)
        return 0;
    const size_t width = report_utf8_width(page->table->title);
    const size_t gap = width + 4 < NOTE_COLUMN ? NOTE_COLUMN - width : 4;
    if (sprof_str_append(&page->line, page->table->title) || report_utf8_spaces(&page->line, gap) ||
        sprof_str_append(&page->line, page->table->note))
        return SPROF_ENOMEM;
    return end_line(page, out, NULL);
}

static int write_row(struct page *page, FILE *out, const struct table_row *row)
{
    for (size_t c = 0; c < page->table->column_count; c++) {
        if (page->table->columns[c].only_data)
            continue;
        sprof_str_clear(&page->cell);
        if (put_cell(&page->cell, page->table, row, c, page->widths[c]) ||
            put_fitted(page, c, page->cell.text))
            return SPROF_ENOMEM;
    }
    return end_line(page, out, NULL);
}

int report_table_write_text(FILE *out, const struct table *table, unsigned columns, bool color)
{
    struct page page = {.table = table, .color = color};
    int result = measure_columns(&page);
    if (!result) {
        narrow(&page, columns);
        result = write_title(&page, out);
    }
    if (!result)
        result = write_groups(&page, out);
    if (!result)
        result = write_titles(&page, out);
    for (size_t r = 0; r < table->rows.count && !result; r++)
        result = write_row(&page, out, &table->rows.items[r]);
    if (!result && table->left_out)
        fprintf(out, "  %s\n", table->left_out);
    sprof_str_release(&page.line);
    sprof_str_release(&page.cell);
    return result;
}

int report_text_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    switch (content->kind) {
    case REPORT_SAMPLES: return report_text_samples(out, content, error);
    case REPORT_ROWS: return report_text_rows(out, content, error);
    default: break;
    }
    const int result =
        report_table_write_text(out, content->table, content->columns, content->color);
    return result ? result : report_quality_write(out, content->dataset, content->columns);
}
