#include "report/csv.h"

#include "report/table.h"

#include <string.h>

void report_csv_field(FILE *out, size_t index, const char *text)
{
    if (index)
        fputc(',', out);
    if (!text)
        return;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void report_csv_end(FILE *out)
{
    fputs("\r\n", out);
}

int report_table_write_csv(FILE *out, const struct table *table)
{
    char number[NUMBER_BYTES];
    for (size_t c = 0; c < table->column_count; c++)
        report_csv_field(out, c, table->columns[c].key);
    report_csv_end(out);
    for (size_t r = 0; r < table->rows.count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            const struct table_cell *cell = &table->rows.items[r].cells[c];
            const char *value = report_table_cell_number(number, table->columns[c].kind, cell);
            report_csv_field(out, c, value ? value : cell->text);
        }
        report_csv_end(out);
    }
    return 0;
}
