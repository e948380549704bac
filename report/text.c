/* Text for people: tables, with the quality of their data below. */
#include "report/format.h"
#include "report/name_cut.h"
#include "report/number_format.h"
#include "report/quality.h"
#include "report/utf8_text.h"

#include <stdio.h>
#include <string.h>

/* Deeper levels of a tree are not indented further; their depth is written instead. */
enum {
    LEVELS_DRAWN = 14,
    INDENT = 2,
    GAP = 2,
    WIDE_GAP = 4,
    NAME_KEEPS = 40, /* columns of what the table is about: others go before it gets narrower */
    FUNCTION_KEEPS = 24,
    MARK_KEEPS = 12, /* the same of functions, before modules get narrower */
    CODE_KEEPS = 60, /* the same of lines of code, which have no part that matters most */
    LEAST_NAME = 12,
    LEAST_SECOND_NAME = 8,
    NOTE_COLUMN = 45
};

struct page {
    const struct table *table;
    size_t widths[TABLE_COLUMNS];
    bool dropped[TABLE_COLUMNS];
    /* What a text that the table is about keeps behind branches while details are there, and while
     * other texts can get narrower. */
    size_t keeps[TABLE_COLUMNS], least[TABLE_COLUMNS];
    size_t first;                               /* the first text: what the table is about */
    struct report_cut_names cut[TABLE_COLUMNS]; /* of functions: how those that are cut look */
    struct sprof_str line, cell;
    bool color;
};

static const struct table_column *column_at(const struct page *page, size_t shown)
{
    return &page->table->columns[page->table->shown[shown]];
}

static bool is_hidden(const struct page *page, size_t shown)
{
    return column_at(page, shown)->only_data || page->dropped[shown];
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

/* What is said behind a name in a tree. */
static const char *mark_of(const struct table *table, size_t row, size_t shown)
{
    const bool is_path = table->columns[table->shown[shown]].kind == TABLE_PATH;
    const char *mark = is_path ? table->places.items[row].mark : NULL;
    return mark ? mark : "";
}

/* What a name in a tree leaves for its mark, where both do not fit. A short mark stays whole, for
 * it distinguishes rows. */
static size_t mark_room(size_t name, size_t mark, size_t room)
{
    const size_t least = mark < MARK_KEEPS ? mark : MARK_KEEPS,
                 kept = name < FUNCTION_KEEPS ? name : FUNCTION_KEEPS,
                 left = room > kept ? room - kept : 0, most = left > least ? left : least;
    return (name <= room && mark <= room - name) || mark < most ? mark : most;
}

/* The text of a cell; names of functions at most `width` wide with their branch and mark. Nothing
 * is cut of the branch, which holds the depth. Others not yet cut. *fixed: the width of the branch,
 * and of what stays of the mark. */
static int put_cell(struct page *page, size_t row, size_t shown, size_t width, size_t *fixed)
{
    const struct table *table = page->table;
    const struct table_column *column = column_at(page, shown);
    const union table_cell *cell = report_table_cell(table, row, table->shown[shown]);
    struct sprof_str *out = &page->cell;
    char number[NUMBER_BYTES];
    sprof_str_clear(out);
    *fixed = 0;
    if (table->blank_zeros && !report_column_is_text(column) && !cell->count)
        return sprof_str_append(out, "");
    if (report_cell_is_unknown(column, cell))
        return sprof_str_append(out, "–");
    switch (column->kind) {
    case TABLE_NUMBER:
    case TABLE_ADDRESS: return sprof_str_append(out, report_table_number(number, column, cell));
    case TABLE_COUNT: return sprof_str_appendf(out, "%llu", (unsigned long long)cell->count);
    case TABLE_PERCENT:
        return sprof_str_append(
            out, report_number_percent(number, cell->count, column->whole, column->decimals));
    case TABLE_INTERVAL: return sprof_str_appendf(out, "%.*f", (int)table->decimals, cell->points);
    case TABLE_TIME:
        return sprof_str_append(out, report_number_time(number, cell->count, table->time_unit_ns));
    case TABLE_NS:
    case TABLE_LENGTH: return sprof_str_append(out, report_number_length(number, cell->count));
    case TABLE_MOMENT: return sprof_str_append(out, report_number_moment(number, cell->count));
    case TABLE_CODE: return report_utf8_cut(out, cell->text, width);
    case TABLE_NAME: break;
    case TABLE_PATH:
        if (put_branch(out, &table->places.items[row]))
            return SPROF_ENOMEM;
        *fixed = out->text ? report_utf8_width(out->text) : 0;
        break;
    }
    if (column->cut_at_end)
        return report_utf8_cut(out, cell->text, width);
    if (column->place)
        return report_utf8_end(out, cell->text, width);
    const char *mark = column->kind == TABLE_PATH ? mark_of(table, row, shown) : "";
    const size_t all = *fixed < width ? width - *fixed : 1, marked = report_utf8_width(mark),
                 cut = mark_room(report_utf8_width(cell->text), marked, all),
                 room = cut < all ? all - cut : 1;
    *fixed += marked < MARK_KEEPS ? marked : MARK_KEEPS;
    if (column->functions ? report_name_cut(&page->cut[shown], out, cell->text, room)
                          : sprof_str_append(out, cell->text))
        return SPROF_ENOMEM;
    return report_utf8_cut(out, mark, cut);
}

/* The larger one of what a text keeps beside branch and mark, `usual`, and its last component. */
static size_t kept_width(const struct page *page, size_t row, size_t shown, size_t width,
                         size_t usual)
{
    const size_t column = page->table->shown[shown];
    const struct table_column *own = &page->table->columns[column];
    if (own->kind == TABLE_CODE && usual < CODE_KEEPS)
        usual = CODE_KEEPS;
    const char *name = report_table_cell(page->table, row, column)->text;
    const char *base = own->place && name ? strrchr(name, '/') : NULL;
    if (own->place)
        return base && report_utf8_width(base) < width ? report_utf8_width(base) : width;
    const size_t last = own->functions && name && width > usual ? report_name_least(name) : 0;
    return width <= usual ? width : last > usual ? last : usual;
}

static void grow_to(size_t *most, size_t value)
{
    *most = value > *most ? value : *most;
}

static int measure_columns(struct page *page)
{
    const struct table *table = page->table;
    const size_t rows = report_table_rows(table);
    page->first = table->shown_count;
    for (size_t c = table->shown_count; c-- > 0;) {
        if (is_hidden(page, c))
            continue;
        const bool text = report_column_is_text(column_at(page, c));
        page->widths[c] = report_utf8_width(column_at(page, c)->title);
        page->keeps[c] = page->least[c] = page->widths[c];
        for (size_t r = 0; r < rows; r++) {
            size_t fixed;
            if (put_cell(page, r, c, SIZE_MAX, &fixed))
                return SPROF_ENOMEM;
            const size_t width = report_utf8_width(page->cell.text);
            grow_to(&page->widths[c], width);
            grow_to(&page->keeps[c], fixed + kept_width(page, r, c, width - fixed, NAME_KEEPS));
            grow_to(&page->least[c], fixed + kept_width(page, r, c, width - fixed, FUNCTION_KEEPS));
        }
        if (text)
            page->first = c;
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
    for (size_t c = 0; c < page->table->shown_count; c++)
        if (!is_hidden(page, c))
            width += (width ? gap_before(column_at(page, c)) : INDENT) + page->widths[c];
    return width;
}

/* Whether the table is about this text: its first, and what a builder marks. */
static bool is_subject(const struct page *page, size_t shown)
{
    return shown == page->first || column_at(page, shown)->subject;
}

/* Takes columns from the widest of the texts that the table is about, or of the others, until the
 * page fits or none is wider than `least`, or than what it keeps where `keeps` is not NULL. */
static void narrow_texts(struct page *page, bool subjects, const size_t *keeps, size_t least,
                         size_t columns)
{
    const size_t none = page->table->shown_count;
    while (page_width(page) > columns) {
        size_t widest = none;
        for (size_t c = page->first; c < none; c++)
            if (!is_hidden(page, c) && report_column_is_text(column_at(page, c)) &&
                is_subject(page, c) == subjects &&
                page->widths[c] > (keeps                       ? keeps[c]
                                   : column_at(page, c)->place ? page->least[c]
                                                               : least) &&
                (widest == none || page->widths[c] > page->widths[widest]))
                widest = c;
        if (widest == none)
            return;
        page->widths[widest]--;
    }
}

/* Drops what may go, the most optional first, down to what is `least` optional, until the page
 * fits. */
static void drop_columns(struct page *page, unsigned least, size_t columns)
{
    while (page_width(page) > columns) {
        size_t worst = page->table->shown_count;
        for (size_t c = 0; c < page->table->shown_count; c++)
            if (!is_hidden(page, c) && column_at(page, c)->optional >= least &&
                (worst == page->table->shown_count ||
                 column_at(page, c)->optional >= column_at(page, worst)->optional))
                worst = c;
        if (worst == page->table->shown_count)
            return;
        page->dropped[worst] = true;
    }
}

/* Gives texts the space that was made beyond what was needed, the first one first. */
static void widen_texts(struct page *page, const size_t wholes[static TABLE_COLUMNS],
                        size_t columns)
{
    for (size_t c = page->first; c < page->table->shown_count; c++)
        while (!is_hidden(page, c) && page->widths[c] < wholes[c] && page_width(page) < columns)
            page->widths[c]++;
}

/* Makes the page fit. The scopes of long names give way first, then details, then all scopes, then
 * modules and other texts; the last component of a name is cut when nothing else is left. */
static void narrow(struct page *page, size_t columns)
{
    size_t wholes[TABLE_COLUMNS];
    if (page->first == page->table->shown_count)
        return;
    memcpy(wholes, page->widths, sizeof wholes);
    narrow_texts(page, true, page->keeps, 0, columns);
    drop_columns(page, TABLE_DETAIL, columns);
    narrow_texts(page, true, page->least, 0, columns);
    narrow_texts(page, false, NULL, LEAST_SECOND_NAME, columns);
    drop_columns(page, TABLE_SECOND, columns);
    narrow_texts(page, true, NULL, LEAST_NAME, columns);
    widen_texts(page, wholes, columns);
    for (size_t c = page->table->shown_count; c-- > page->first + 1;)
        if (page_width(page) > columns && !is_hidden(page, c))
            page->dropped[c] = true;
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

/* Takes note of the names that need not be cut: those that are will look different. */
static int note_whole(struct page *page)
{
    int result = 0;
    for (size_t c = 0; c < page->table->shown_count; c++) {
        if (is_hidden(page, c) || !column_at(page, c)->functions)
            continue;
        for (size_t r = 0; r < report_table_rows(page->table) && !result; r++) {
            size_t fixed;
            const char *name = report_table_cell(page->table, r, page->table->shown[c])->text;
            result = put_cell(page, r, c, SIZE_MAX, &fixed);
            if (!result && name && report_utf8_width(page->cell.text) <= page->widths[c])
                result = report_name_whole(&page->cut[c], name);
        }
    }
    return result;
}

static int put_fitted(struct page *page, size_t shown, const char *text)
{
    const struct table_column *column = column_at(page, shown);
    if (report_utf8_spaces(&page->line, page->line.length ? gap_before(column) : INDENT))
        return SPROF_ENOMEM;
    return report_column_is_text(column)
               ? report_utf8_left(&page->line, text, page->widths[shown])
               : report_utf8_right(&page->line, text, page->widths[shown]);
}

static int write_titles(struct page *page, FILE *out)
{
    for (size_t c = 0; c < page->table->shown_count; c++)
        if (!is_hidden(page, c) && put_fitted(page, c, column_at(page, c)->title))
            return SPROF_ENOMEM;
    return end_line(page, out, "1");
}

/* The line above the titles: each group where its first column begins. */
static int write_groups(struct page *page, FILE *out)
{
    const char *group = NULL;
    size_t at = 0;
    bool any = false;
    for (size_t c = 0; c < page->table->shown_count; c++) {
        const struct table_column *column = column_at(page, c);
        if (is_hidden(page, c))
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

/* Adds a text whose parts are joined by " · ", in lines of at most `columns` where parts fit. */
static int write_parts(struct page *page, FILE *out, const char *text, size_t columns)
{
    static const char joint[] = " · ";
    int result = 0;
    while (text && !result) {
        const char *end = strstr(text, joint);
        const size_t so_far = page->line.length ? report_utf8_width(page->line.text) : 0;
        sprof_str_clear(&page->cell);
        result =
            sprof_str_append_bytes(&page->cell, text, end ? (size_t)(end - text) : strlen(text));
        if (!result && so_far &&
            so_far + report_utf8_width(joint) + report_utf8_width(page->cell.text) > columns)
            end_line(page, out, NULL);
        if (!result)
            result = page->line.length ? sprof_str_append(&page->line, joint)
                                       : report_utf8_spaces(&page->line, INDENT);
        if (!result)
            result = sprof_str_append(&page->line, page->cell.text);
        text = end ? end + strlen(joint) : NULL;
    }
    return result ? result : end_line(page, out, NULL);
}

/* The title, and the note beside it where both fit, else below. */
static int write_title(struct page *page, FILE *out, size_t columns)
{
    if (!page->table->title)
        return 0;
    const size_t title = report_utf8_width(page->table->title);
    const size_t note = page->table->note ? report_utf8_width(page->table->note) : 0;
    size_t gap = title + WIDE_GAP < NOTE_COLUMN ? NOTE_COLUMN - title : WIDE_GAP;
    if (title + gap + note > columns)
        gap = WIDE_GAP;
    if (sprof_str_append(&page->line, page->table->title))
        return SPROF_ENOMEM;
    if (!note)
        return end_line(page, out, NULL);
    if (title + gap + note > columns) {
        end_line(page, out, NULL);
        return write_parts(page, out, page->table->note, columns);
    }
    if (report_utf8_spaces(&page->line, gap) || sprof_str_append(&page->line, page->table->note))
        return SPROF_ENOMEM;
    return end_line(page, out, NULL);
}

static int write_row(struct page *page, FILE *out, size_t row)
{
    for (size_t c = 0; c < page->table->shown_count; c++) {
        size_t fixed;
        if (!is_hidden(page, c) && (put_cell(page, row, c, page->widths[c], &fixed) ||
                                    put_fitted(page, c, page->cell.text)))
            return SPROF_ENOMEM;
    }
    return end_line(page, out, NULL);
}

/* Below a blank line: what columns mean that are there, and notes. `more` follows it. */
static int write_notes(struct page *page, FILE *out, bool more)
{
    const struct table *table = page->table;
    struct sprof_str about = {0};
    const int result = report_table_append_about(table, page->dropped, &about);
    if (more || about.length || table->notes.count)
        fputc('\n', out);
    if (about.length)
        fprintf(out, "%s\n", about.text);
    for (size_t i = 0; i < table->notes.count; i++)
        fprintf(out, "%s\n", table->notes.items[i]);
    sprof_str_release(&about);
    return result;
}

/* The table; of a report with its notes. */
static int write_page(FILE *out, const struct table *table, unsigned columns, bool color,
                      const struct report_content *content)
{
    struct page page = {.table = table, .color = color};
    int result = measure_columns(&page);
    if (!result) {
        narrow(&page, columns);
        result = note_whole(&page);
    }
    if (!result)
        result = write_title(&page, out, columns);
    if (!result && (report_table_rows(table) || !table->hides_titles))
        result = write_groups(&page, out) || write_titles(&page, out) ? SPROF_ENOMEM : 0;
    for (size_t r = 0; r < report_table_rows(table) && !result; r++)
        result = write_row(&page, out, r);
    if (!result && table->left_out)
        result = write_parts(&page, out, table->left_out, columns);
    if (!result && content)
        result = write_notes(&page, out, content->dataset);
    for (size_t c = 0; c < table->shown_count; c++)
        report_cut_names_release(&page.cut[c]);
    sprof_str_release(&page.line);
    sprof_str_release(&page.cell);
    return result;
}

int report_table_write_text(FILE *out, const struct table *table, unsigned columns, bool color)
{
    return write_page(out, table, columns, color, NULL);
}

int report_text_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    switch (content->kind) {
    case REPORT_SAMPLES: return report_text_samples(out, content, error);
    case REPORT_ROWS: return report_text_rows(out, content, error);
    default: break;
    }
    const int result = write_page(out, content->table, content->columns, content->color, content);
    return result || !content->dataset
               ? result
               : report_quality_write(out, content->dataset, content->columns, content->verbose);
}
