/* The parts of a table that do not depend on what is in it: columns and numbers. */
#include "report/table.h"

#include "report/error_text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

void report_table_release(struct table *table)
{
    sprof_vec_release(&table->cells);
    sprof_vec_release(&table->places);
    sprof_vec_release(&table->notes);
}

void report_table_column(struct table *table, struct table_column column)
{
    assert(table->column_count < TABLE_COLUMNS);
    table->shown[table->shown_count++] = (uint8_t)table->column_count;
    table->columns[table->column_count++] = column;
}

const char *report_table_number(char buffer[static NUMBER_BYTES], const struct table_column *column,
                                const union table_cell *cell)
{
    if (report_cell_is_unknown(column, cell) && !report_column_is_text(column))
        return strcpy(buffer, "");
    switch (column->kind) {
    case TABLE_NS:
    case TABLE_COUNT: snprintf(buffer, NUMBER_BYTES, "%" PRIu64, cell->count); return buffer;
    case TABLE_NUMBER: snprintf(buffer, NUMBER_BYTES, "%s", cell->text); return buffer;
    case TABLE_ADDRESS: snprintf(buffer, NUMBER_BYTES, "0x%" PRIx64, cell->count); return buffer;
    case TABLE_PERCENT:
        snprintf(buffer, NUMBER_BYTES, "%.10g", report_number_share(cell->count, column->whole));
        return buffer;
    case TABLE_INTERVAL: snprintf(buffer, NUMBER_BYTES, "%.10g", cell->points); return buffer;
    case TABLE_LENGTH:
    case TABLE_MOMENT:
    case TABLE_TIME: return report_number_seconds(buffer, cell->count);
    case TABLE_NAME:
    case TABLE_PATH:
    case TABLE_CODE: return NULL;
    }
    return NULL;
}

static bool is_word(const char *word, const char *name, size_t length)
{
    return word && strlen(word) == length && !memcmp(word, name, length);
}

int report_table_find_column(const struct table *table, const char *name, size_t length,
                             size_t *column, struct sprof_error *error)
{
    for (int titles = 0; titles < 2; titles++)
        for (size_t c = 0; c < table->column_count; c++) {
            const struct table_column *item = &table->columns[c];
            *column = c;
            if (is_word(titles ? item->title : item->key, name, length))
                return 0;
        }
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "this table has no column '%.*s'; it has ",
                      (int)(length < 100 ? length : 100), name);
    for (size_t c = 0; c < table->column_count; c++) {
        const char *title = table->columns[c].title;
        sprof_str_appendf(&text, "%s%s", c ? ", " : "", title ? title : table->columns[c].key);
    }
    return report_error_text(error, SPROF_EUSAGE, &text);
}

int report_table_show(struct table *table, const char *list, struct sprof_error *error)
{
    size_t count = 0;
    if (!list)
        return 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        size_t column;
        const int result = report_table_find_column(table, list, length, &column, error);
        if (result)
            return result;
        if (count == TABLE_COLUMNS)
            return sprof_error_set(error, SPROF_EUSAGE, 0, "--show: name each column once");
        struct table_column *shown = &table->columns[column];
        shown->only_data = false;
        shown->optional = 0;
        shown->title = shown->title ? shown->title : shown->key;
        table->shown[count++] = (uint8_t)column;
        list += length;
        list += *list == ',';
    }
    if (!count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--show: name the columns, as in `--show samples,function`");
    table->shown_count = count;
    return 0;
}

int report_table_append_about(const struct table *table, const bool *dropped, struct sprof_str *out)
{
    for (size_t c = 0; c < table->shown_count; c++) {
        const struct table_column *column = &table->columns[table->shown[c]];
        if (column->about && !column->only_data && !(dropped && dropped[c]) &&
            sprof_str_appendf(out, "%s%s", out->length ? " · " : "", column->about))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* == Order == */

struct sorting {
    const struct table *table;
    size_t column;
    bool ascending;
};

static int compare_cells(const struct table *table, size_t column, uint32_t a, uint32_t b)
{
    const union table_cell *first = report_table_cell(table, a, column);
    const union table_cell *second = report_table_cell(table, b, column);
    if (report_cell_is_unknown(&table->columns[column], first) ||
        report_cell_is_unknown(&table->columns[column], second))
        return 0;
    switch (table->columns[column].kind) {
    case TABLE_NAME:
    case TABLE_PATH:
    case TABLE_CODE: return strcmp(first->text, second->text);
    case TABLE_NUMBER: {
        const double difference = strtod(first->text, NULL) - strtod(second->text, NULL);
        return difference < 0 ? -1 : difference > 0;
    }
    case TABLE_INTERVAL:
        return first->points < second->points ? -1 : first->points > second->points;
    default: return first->count < second->count ? -1 : first->count > second->count;
    }
}

/* Rows that are equal in the column are in the order of their names. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct table *table = sorting->table;
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    const struct table_column *column = &table->columns[sorting->column];
    int order = report_cell_is_unknown(column, report_table_cell(table, first, sorting->column)) -
                report_cell_is_unknown(column, report_table_cell(table, second, sorting->column));
    if (order)
        return order;
    order = compare_cells(table, sorting->column, first, second);
    if (order)
        return sorting->ascending ? order : -order;
    for (size_t c = 0; c < table->column_count && !order && !table->ordered; c++)
        if (report_column_is_text(&table->columns[c]))
            order = compare_cells(table, c, first, second);
    return order ? order : first < second ? -1 : first > second;
}

int report_table_sort_column(const struct table *table, const char *sort, size_t *column,
                             bool *ascending, struct sprof_error *error)
{
    size_t share = 0, number = 0;
    while (share < table->column_count && table->columns[share].kind != TABLE_PERCENT)
        share++;
    while (number < table->column_count && report_column_is_text(&table->columns[number]))
        number++;
    *column = share < table->column_count ? share : number < table->column_count ? number : 0;
    *ascending = false;
    if (!sort)
        return 0;
    const size_t length = strcspn(sort, ":");
    const int result = report_table_find_column(table, sort, length, column, error);
    if (result)
        return result;
    const char *direction = sort + length;
    *ascending =
        *direction ? !strcmp(direction, ":asc") : report_column_is_text(&table->columns[*column]);
    if (*direction && !*ascending && strcmp(direction, ":desc") != 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--sort %s: write :asc or :desc behind the column", sort);
    return 0;
}

int report_table_sort(const struct table *table, const char *sort, uint32_t **order,
                      struct sprof_error *error)
{
    struct sorting sorting = {.table = table};
    const size_t count = report_table_rows(table);
    const int result =
        report_table_sort_column(table, sort, &sorting.column, &sorting.ascending, error);
    if (result)
        return result;
    *order = malloc((count + 1) * sizeof **order);
    if (!*order)
        return SPROF_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        (*order)[i] = i;
    qsort_r(*order, count, sizeof **order, compare_rows, &sorting);
    return 0;
}

int report_table_take(struct table *table, const uint32_t *rows, size_t count)
{
    const size_t width = table->column_count;
    struct table taken = {0};
    if (sprof_vec_reserve(&taken.cells, count * width + 1))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        memcpy(taken.cells.items + i * width, table->cells.items + rows[i] * width,
               width * sizeof *taken.cells.items);
    free(table->cells.items);
    table->cells.items = taken.cells.items;
    table->cells.capacity = taken.cells.capacity;
    table->cells.count = count * width;
    return 0;
}
