/* Makes tables of rows that commands give, which no recording holds. */
#include "report/listing.h"

#include "report/table.h"
#include "report/utf8_text.h"

struct report_listing {
    struct table table;
    struct sprof_arena arena;
};

static const char *copy_of(struct report_listing *listing, const char *text)
{
    const char *copy = report_utf8_copy(&listing->arena, text);
    listing->table.failed |= !copy;
    return copy ? copy : "";
}

struct report_listing *report_listing_new(const struct report_listing_column *columns, size_t count)
{
    struct report_listing *listing = calloc(1, sizeof *listing);
    for (size_t i = 0; listing && i < count && i < TABLE_COLUMNS; i++) {
        const char *name = copy_of(listing, columns[i].name);
        const bool is_number = columns[i].kind == REPORT_CELL_NUMBER;
        const bool is_function = columns[i].kind == REPORT_CELL_FUNCTION;
        report_table_column(&listing->table,
                            (struct table_column){.title = name,
                                                  .key = name,
                                                  .kind = is_number ? TABLE_NUMBER : TABLE_NAME,
                                                  .only_data = columns[i].only_data,
                                                  .functions = is_function,
                                                  .subject = is_function});
    }
    return listing;
}

void report_listing_free(struct report_listing *listing)
{
    if (!listing)
        return;
    report_table_release(&listing->table);
    sprof_arena_release(&listing->arena);
    free(listing);
}

void report_listing_row(struct report_listing *listing, const char *const *cells)
{
    struct table *table = &listing->table;
    for (size_t i = 0; i < table->column_count; i++) {
        const bool is_unknown = !cells[i] || (table->columns[i].kind == TABLE_NUMBER && !*cells[i]);
        report_table_put_text(table, is_unknown ? NULL : copy_of(listing, cells[i]));
    }
}

size_t report_listing_rows(const struct report_listing *listing)
{
    return report_table_rows(&listing->table);
}

int report_listing_write(struct report_listing *listing, FILE *out,
                         const struct report_style *style, struct sprof_error *error)
{
    return listing->table.failed
               ? sprof_error_memory(error)
               : report_table_write(out, &listing->table, &listing->arena, NULL, style, error);
}
