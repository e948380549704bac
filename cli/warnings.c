/* A table of warnings: calls that took too long or too much, or have not returned. */
#include "cli/warnings.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 40 };

static const struct cli_column columns_of_programs[] = {
    {"time_ns", true, 0}, {"kind", false, 0}, {"function", false, 0},
    {"module", false, 0}, {"value", true, 0}, {"bound", true, 0},
    {"pid", true, 0},     {"tid", true, 0},   {"thread", false, 0},
};
static const struct cli_column columns_of_people[] = {
    {"time", true, 12},    {"kind", false, 5},    {"took", true, 12},     {"may take", true, 12},
    {"thread", false, 16}, {"module", false, 20}, {"function", false, 0},
};

struct showing {
    struct cli_listing listing;
    uint64_t count;
};

static int note_count(void *context, int columns, char *const *values, char *const *names)
{
    struct showing *showing = context;
    (void)columns;
    (void)names;
    showing->count = values[0] ? strtoull(values[0], NULL, 10) : 0;
    return 0;
}

static void amount_text(char text[32], const char *kind, const char *value, bool is_bound)
{
    const double amount = strtod(value, NULL);
    if (!strcmp(kind, "stack"))
        snprintf(text, 32, "%.1f KiB", amount / 1024);
    else if (!strcmp(kind, "chunk") && !is_bound)
        snprintf(text, 32, "0x%llx", strtoull(value, NULL, 10)); /* which block */
    else if (!strcmp(kind, "heap") || !strcmp(kind, "chunk"))
        snprintf(text, 32, "%.0f bytes", amount);
    else
        snprintf(text, 32, "%.3f ms", amount / 1e6);
}

static int show_row(void *context, int columns, char *const *values, char *const *names)
{
    struct showing *showing = context;
    const char *cells[CLI_COLUMNS_MAX] = {0};
    (void)names;
    if (showing->listing.format != CLI_TEXT) {
        cli_listing_row(&showing->listing, (const char *const *)values);
        return 0;
    }
    for (int i = 0; i < columns && i < CLI_COLUMNS_MAX; i++)
        cells[i] = values[i] ? values[i] : "";
    char time[32], took[32], may_take[32], thread[64];
    const char *const text[] = {time, cells[1], took, may_take, thread, cells[3], cells[2]};
    snprintf(time, sizeof time, "%.6f s", strtod(cells[0], NULL) / 1e9);
    amount_text(took, cells[1], cells[4], false);
    amount_text(may_take, cells[1], cells[5], true);
    snprintf(thread, sizeof thread, "%s %s", *cells[8] ? cells[8] : "?", cells[7]);
    cli_listing_row(&showing->listing, text);
    return 0;
}

int cli_show_warnings(FILE *out, struct store *store, const struct cli_warnings_options *options,
                      struct sprof_error *error)
{
    const bool is_text = options->format == CLI_TEXT;
    struct showing showing = {.listing = {.out = out,
                                          .format = options->format,
                                          .functions = 1u << 6,
                                          .full_names = options->full_names}};
    struct cli_listing *listing = &showing.listing;
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM warning WHERE run_id = %llu",
             (unsigned long long)options->run);
    int status = store_query(store, sql, note_count, &showing, error);
    if (status || (options->newest && !showing.count))
        return status;
    const uint64_t limit = options->limit ? options->limit
                           : is_text      ? (uint64_t)ROWS_SHOWN
                                          : (uint64_t)INT64_MAX;
    if (is_text)
        fprintf(out, "%s%llu warning%s\n", options->newest ? "\n" : "",
                (unsigned long long)showing.count, showing.count == 1 ? "" : "s");
    listing->columns = is_text ? columns_of_people : columns_of_programs;
    listing->column_count = is_text ? sizeof columns_of_people / sizeof *columns_of_people
                                    : sizeof columns_of_programs / sizeof *columns_of_programs;
    snprintf(
        sql, sizeof sql,
        "SELECT time_ns, kind, function, module, value, bound, pid, tid, thread FROM (SELECT * "
        "FROM v_warning WHERE run_id = %llu ORDER BY time_ns %s LIMIT %llu) ORDER BY time_ns",
        (unsigned long long)options->run, options->newest ? "DESC" : "ASC",
        (unsigned long long)limit);
    if (!is_text || showing.count) {
        cli_listing_begin(listing);
        status = store_query(store, sql, show_row, &showing, error);
        if (cli_listing_end(listing) && !status)
            status = sprof_error_memory(error);
    }
    if (!status && is_text && !options->newest && listing->rows < showing.count)
        fprintf(out, "  … and %llu more: -n 0 shows them\n",
                (unsigned long long)(showing.count - listing->rows));
    return status;
}
