/* Writes the answer in one look: functions by self time, and the hottest path below them. */
#include "report/first_screen.h"

#include "report/quality.h"
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
    if (report_counts_calls(dataset) && report_dataset_callers(dataset) != REPORT_ALL_CALLERS)
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

static bool says_how_to_read(const struct report_selection *selection)
{
    return selection->other_mode || selection->no_standard || selection->no_inlined ||
           selection->hide || selection->show_from;
}

int report_first_screen_load(struct report_dataset *dataset, struct store *store,
                             const struct report_selection *selection, unsigned parts,
                             struct sprof_error *error)
{
    struct report_selection own = *selection;
    const int result = report_dataset_load(dataset, store, selection, parts, error);
    if (result || says_how_to_read(selection) || !report_quality_is_all_time(dataset) ||
        dataset->reading.recorded.mode != MODEL_MODE_FULL)
        return result;
    report_dataset_release(dataset);
    own.other_mode = own.no_standard = true;
    own.mode = MODEL_MODE_APP;
    return report_dataset_load(dataset, store, &own, parts, error);
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
