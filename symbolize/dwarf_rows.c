/* Sorts the rows of a unit's line table into the functions of an index. */
#include "symbolize/dwarf_rows.h"

#include <stdlib.h>

/* == Gathering == */

static int by_low(const void *left, const void *right)
{
    const struct dwarf_rows_piece *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The first piece that ends behind an address. */
static size_t first_behind(const struct dwarf_rows *rows, uint64_t low)
{
    size_t left = 0, right = rows->pieces.count;
    while (left < right) {
        const size_t middle = left + (right - left) / 2;
        if (rows->pieces.items[middle].high <= low)
            left = middle + 1;
        else
            right = middle;
    }
    return left;
}

static void add_row(struct dwarf_rows *rows, size_t number, uint64_t low, uint32_t file,
                    uint64_t line)
{
    struct dwarf_rows_piece *piece = &rows->pieces.items[number];
    const struct dwarf_row row = {(uint32_t)number,
                                  {low > piece->low ? (uint32_t)(low - piece->low) : 0, file,
                                   line <= UINT32_MAX ? (uint32_t)line : 0}};
    piece->count++;
    rows->names->index->failed |= sprof_vec_push(&rows->rows, row) != 0;
}

/* A row goes into every piece that it covers some of; where it ends inside of one, an empty line
 * says that none is known from there on, until the next row begins there. What lies before the next
 * piece need not come here. */
static uint64_t note_row(void *context, uint64_t low, uint64_t high, uint64_t file, uint64_t line)
{
    struct dwarf_rows *rows = context;
    const struct dwarf_rows_piece *pieces = rows->pieces.items;
    const size_t count = rows->pieces.count;
    low -= rows->delta;
    high -= rows->delta;
    size_t at = rows->last;
    if (pieces[at].low > low ? at && pieces[at - 1].high > low : pieces[at].high <= low) {
        at = first_behind(rows, low);
        if (at == count)
            return UINT64_MAX;
        rows->last = at;
    }
    if (pieces[at].low >= high)
        return pieces[at].low + rows->delta;
    const uint32_t text = symbolize_dwarf_names_file(rows->names, rows->unit, file);
    for (; at < count && pieces[at].low < high; at++) {
        const struct dwarf_row *before =
            rows->rows.count ? &rows->rows.items[rows->rows.count - 1] : NULL;
        if (before && before->piece == at && !before->line.file && !before->line.line &&
            low > pieces[at].low && before->line.low == low - pieces[at].low) {
            rows->rows.count--;
            rows->pieces.items[at].count--;
        }
        add_row(rows, at, low, text, line);
        if (high < pieces[at].high)
            add_row(rows, at, high, 0, 0);
    }
    return 0;
}

/* Where code begins at 0, so do the rows of every function that the linker dropped. Those of the
 * function that is there end with it, if any do. */
static bool is_dropped_at_zero(const struct dwarf_rows *rows, uint64_t low, uint64_t high)
{
    const struct dwarf_code *code = &rows->names->dwarf.code;
    const struct dwarf_zero *zero = &rows->zero;
    if (!code->has_zero || low != code->zero || !zero->has_dropped)
        return false;
    for (size_t i = 0; zero->end && high != zero->end && i < rows->table->sequences.count; i++)
        if (rows->table->sequences.items[i].low == low &&
            rows->table->sequences.items[i].high == zero->end)
            return true;
    return !zero->end;
}

/* Whether a sequence may have rows of a piece. */
static bool wants_rows(void *context, uint64_t low, uint64_t high)
{
    const struct dwarf_rows *rows = context;
    if (is_dropped_at_zero(rows, low, high))
        return false;
    const size_t at = first_behind(rows, low - rows->delta);
    return at < rows->pieces.count && rows->pieces.items[at].low < high - rows->delta;
}

/* == Sorting == */

static int by_address(const void *left, const void *right)
{
    const struct index_line *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return (a->line > 0) - (b->line > 0); /* ends come before what begins there */
}

/* Brings the rows into the order of the pieces. */
static bool sort_by_pieces(struct dwarf_rows *rows)
{
    size_t first = 0;
    if (sprof_vec_reserve(&rows->lines, rows->rows.count + 1))
        return false;
    for (size_t i = 0; i < rows->pieces.count; i++) {
        rows->pieces.items[i].first = first;
        first += rows->pieces.items[i].count;
        rows->pieces.items[i].count = 0;
    }
    for (size_t i = 0; i < rows->rows.count; i++) {
        struct dwarf_rows_piece *piece = &rows->pieces.items[rows->rows.items[i].piece];
        rows->lines.items[piece->first + piece->count++] = rows->rows.items[i].line;
    }
    return true;
}

/* Gives a piece its lines: of equal addresses the last, of equal lines in a row the first. */
static void add_lines(struct function_index *index, struct index_piece *piece,
                      struct index_line *lines, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted &= by_address(&lines[i - 1], &lines[i]) <= 0;
    if (!sorted)
        qsort(lines, count, sizeof *lines, by_address);
    piece->first_line = (uint32_t)index->lines.count;
    for (size_t i = 0; i < count; i++) {
        const bool first = index->lines.count == piece->first_line;
        struct index_line *last = first ? NULL : &index->lines.items[index->lines.count - 1];
        if (last && last->low == lines[i].low)
            *last = lines[i];
        else if (last && last->file == lines[i].file && last->line == lines[i].line)
            continue;
        else if (sprof_vec_push(&index->lines, lines[i]))
            index->failed = true;
    }
    piece->line_count = (uint32_t)(index->lines.count - piece->first_line);
}

void symbolize_dwarf_rows_add(struct dwarf_rows *rows, struct dwarf_unit *unit, size_t first)
{
    struct function_index *index = rows->names->index;
    const struct dwarf_source_files *files =
        index->pieces.count > first ? symbolize_dwarf_names_files(rows->names, unit) : NULL;
    rows->unit = unit;
    rows->pieces.count = rows->rows.count = rows->last = 0;
    if (!files || !files->lines.lengths)
        return;
    for (size_t i = first; i < index->pieces.count; i++) {
        const struct dwarf_rows_piece piece = {
            .low = index->pieces.items[i].low,
            .high = index->pieces.items[i].high,
            .number = (uint32_t)i,
        };
        index->failed |= sprof_vec_push(&rows->pieces, piece) != 0;
    }
    if (index->failed)
        return;
    qsort(rows->pieces.items, rows->pieces.count, sizeof *rows->pieces.items, by_low);
    struct dwarf_line_table table = files->lines; /* the list of tables may move */
    rows->table = &table;
    symbolize_dwarf_line_table_run(&table, &rows->names->dwarf, note_row, wants_rows, rows);
    rows->table = NULL;
    symbolize_dwarf_names_files(rows->names, unit)->lines = table;
    if (!sort_by_pieces(rows)) {
        index->failed = true;
        return;
    }
    for (size_t i = 0; i < rows->pieces.count; i++) {
        const struct dwarf_rows_piece *piece = &rows->pieces.items[i];
        add_lines(index, &index->pieces.items[piece->number], rows->lines.items + piece->first,
                  piece->count);
    }
}

void symbolize_dwarf_rows_release(struct dwarf_rows *rows)
{
    sprof_vec_release(&rows->pieces);
    sprof_vec_release(&rows->rows);
    sprof_vec_release(&rows->lines);
}
