/* Writes the answer in one look: functions by self time, and the hottest path below them. */
#include "report/first_screen.h"

#include "report/tree.h"

static int write_table(FILE *out, struct table *table, struct report_dataset *dataset,
                       const struct report_first_screen *screen)
{
    if (!screen->titled)
        table->title = table->left_out = NULL;
    for (size_t c = 0; c < table->column_count; c++)
        if (table->columns[c].kind == TABLE_COUNT && !report_counts_calls(dataset))
            table->columns[c].only_data = true;
    const int result = screen->full_names ? 0 : report_table_shorten(table, &dataset->arena);
    return result ? result : report_table_write_text(out, table, screen->columns, screen->color);
}

static int write_functions(FILE *out, struct report_dataset *dataset,
                           const struct report_first_screen *screen, bool *any,
                           struct sprof_error *error)
{
    struct table table = {0};
    /* Whatever has a share at all. */
    const struct report_table_options options = {.limit = screen->functions, .min_percent = 1e-9};
    int result = report_table_by_keys(&table, dataset, &options, error);
    *any = !result && report_table_rows(&table);
    if (report_table_rows(&table) < screen->functions)
        table.left_out = NULL; /* the others have no time of their own */
    if (*any)
        result = write_table(out, &table, dataset, screen);
    report_table_release(&table);
    return result;
}

/* Of calls that were counted without their paths there is none. */
static int write_path(FILE *out, struct report_dataset *dataset,
                      const struct report_first_screen *screen, struct sprof_error *error)
{
    struct table table = {0};
    if (report_dataset_callers(dataset) != REPORT_ALL_CALLERS)
        return 0;
    int result = report_table_of_hottest(&table, dataset, screen->path_rows, error);
    table.title = NULL;
    if (!result && report_table_rows(&table)) {
        fputs(screen->titled ? "\n" : "", out);
        result = write_table(out, &table, dataset, screen);
    }
    report_table_release(&table);
    return result;
}

int report_first_screen(FILE *out, struct report_dataset *dataset,
                        const struct report_first_screen *screen, struct sprof_error *error)
{
    bool any;
    int result = write_functions(out, dataset, screen, &any, error);
    if (result || !any)
        return result;
    result = write_path(out, dataset, screen, error);
    fputs(screen->titled ? "\n" : "", out);
    return result;
}
