/* A table of the functions that a trace looked for: called, when first and by whom, or not at all.
 */
#include "cli/coverage.h"
#include "cli/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 40 };

static const struct cli_column columns_of_programs[] = {
    {"function", false, 0}, {"module", false, 0},  {"executed", true, 0}, {"runs", true, 0},
    {"first_run", true, 0}, {"first_ns", true, 0}, {"tid", true, 0},      {"thread", false, 0},
    {"address", false, 0},  {"file", false, 0},    {"line", true, 0},
};
/* The first is a time, or that there was none. */
static const struct cli_column columns_of_people[] = {
    {"first call", true, 10}, {"run", true, 4},        {"thread", false, 16},
    {"module", false, 20},    {"function", false, 40}, {"declared at", false, 0},
};

/* Of a function in several runs the first of those in which it was called: a bare column comes from
 * the row of the minimum. */
#define UNITED                                                                                     \
    "SELECT function, module, max(executed) AS executed, sum(executed) AS runs,"                   \
    " min(CASE WHEN executed THEN run_id END) AS first_run, first_ns, tid, thread,"                \
    " printf('0x%%x', address) AS address, file, line FROM v_coverage WHERE %llu IN (0, run_id)"   \
    " GROUP BY function_id"

struct showing {
    struct cli_listing listing;
    uint64_t functions, executed, runs;
};

static int note_counts(void *context, int columns, char *const *values, char *const *names)
{
    struct showing *showing = context;
    (void)columns;
    (void)names;
    showing->functions = values[0] ? strtoull(values[0], NULL, 10) : 0;
    showing->executed = values[1] ? strtoull(values[1], NULL, 10) : 0;
    showing->runs = strtoull(values[2], NULL, 10);
    return 0;
}

static int show_row(void *context, int columns, char *const *values, char *const *names)
{
    struct showing *showing = context;
    char first[32], place[4200];
    (void)columns;
    (void)names;
    if (showing->listing.format == CLI_TEXT) {
        const char *thread = values[7] && *values[7] ? values[7] : values[5] ? "?" : "";
        const char *const text[] = {first, values[4], thread, values[1], values[0], place};
        snprintf(first, sizeof first, values[5] ? "%.6f s" : "–",
                 values[5] ? strtod(values[5], NULL) / 1e9 : 0.0);
        snprintf(place, sizeof place, "%s%s%s", values[9] ? values[9] : "", values[9] ? ":" : "",
                 values[9] && values[10] ? values[10] : "");
        cli_listing_row(&showing->listing, text);
    } else
        cli_listing_row(&showing->listing, (const char *const *)values);
    return 0;
}

static int show_rows(struct showing *showing, struct store *store,
                     const struct cli_coverage_options *options, struct sprof_error *error)
{
    const bool is_text = options->format == CLI_TEXT;
    struct sprof_str sql = {0};
    showing->listing.columns = is_text ? columns_of_people : columns_of_programs;
    showing->listing.column_count = is_text
                                        ? sizeof columns_of_people / sizeof *columns_of_people
                                        : sizeof columns_of_programs / sizeof *columns_of_programs;
    sprof_str_appendf(&sql,
                      "SELECT * FROM (" UNITED ") WHERE executed = 0 OR NOT %d ORDER BY first_run"
                      " NULLS LAST, first_ns, module, function LIMIT %llu",
                      (unsigned long long)options->run, options->unexecuted,
                      options->limit ? (unsigned long long)options->limit
                      : is_text      ? (unsigned long long)ROWS_SHOWN
                                     : (unsigned long long)INT64_MAX);
    cli_listing_begin(&showing->listing);
    const int status = sql.failed ? sprof_error_memory(error)
                                  : store_query(store, sql.text, show_row, showing, error);
    const int end = cli_listing_end(&showing->listing);
    sprof_str_release(&sql);
    return status || !end ? status : sprof_error_memory(error);
}

static int show_killed(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)names;
    fprintf(context, "incomplete: sprof was killed, or its disk was full, in run %s\n",
            values[0] ? values[0] : "?");
    return 0;
}

int cli_show_coverage(FILE *out, struct store *store, const struct cli_coverage_options *options,
                      struct sprof_error *error)
{
    struct showing showing = {.listing = {.out = out,
                                          .format = options->format,
                                          .functions = 1u << 4,
                                          .full_names = options->full_names}};
    char sql[640];
    snprintf(sql, sizeof sql,
             "SELECT count(*), sum(executed), (SELECT count(DISTINCT run_id) FROM entry_coverage)"
             " FROM (" UNITED ")",
             (unsigned long long)options->run);
    int status = store_query(store, sql, note_counts, &showing, error);
    if (!status && !showing.functions)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               options->run
                                   ? "run %llu did not look for the functions that are called: "
                                     "`sprof trace --mode coverage -- COMMAND` does"
                                   : "no run of the recording looked for the functions that are "
                                     "called: `sprof trace --mode coverage -- COMMAND` does",
                               (unsigned long long)options->run);
    if (!status && options->format == CLI_TEXT)
        fprintf(out, "%llu of %llu function%s called: %.1f %% of those with a probe%s\n",
                (unsigned long long)showing.executed, (unsigned long long)showing.functions,
                showing.functions == 1 ? " was" : "s were",
                100.0 * (double)showing.executed / (double)showing.functions,
                options->run || showing.runs < 2 ? "" : ", in all runs together");
    const uint64_t rows = showing.functions - (options->unexecuted ? showing.executed : 0);
    if (!status && options->format == CLI_TEXT && !rows)
        fputs("there is none that was not called\n", out);
    else if (!status)
        status = show_rows(&showing, store, options, error);
    if (!status && options->format == CLI_TEXT && showing.listing.rows < rows)
        fprintf(out, "  … and %llu more: -n 0 shows them\n",
                (unsigned long long)(rows - showing.listing.rows));
    snprintf(sql, sizeof sql,
             "SELECT run_id FROM counter c WHERE name = '" STORE_RECORDER_KILLED
             "' AND %llu IN (0, run_id)"
             " AND EXISTS (SELECT 1 FROM entry_coverage e WHERE e.run_id = c.run_id)",
             (unsigned long long)options->run);
    if (!status && options->format == CLI_TEXT)
        status = store_query(store, sql, show_killed, out, error);
    if (!status && options->format == CLI_TEXT)
        status = cli_tell_run(out, store, options->run, showing.runs, error);
    return status;
}
