/* sprof stats: a table of the functions that were traced, with calls and times. */
#include "cli/stats.h"
#include "cli/commands.h"
#include "cli/coverage.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/open.h"
#include "cli/values.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 40 };

/* What can be shown and sorted by; in v_call_stats those of time end in _ns. */
static const struct field {
    const char *name, *column;
    bool is_time, is_text, in_text; /* in_text: people see it */
    unsigned width;
} fields[] = {
    {"self", "self_ns", true, false, true, 9},
    {"total", "total_ns", true, false, true, 9},
    {"calls", "calls", false, false, true, 11},
    {"average", "average_ns", true, false, true, 9},
    {"self-average", "self_average_ns", true, false, false, 9},
    {"min", "min_ns", true, false, true, 9},
    {"p50", "p50_ns", true, false, true, 9},
    {"p90", "p90_ns", true, false, false, 9},
    {"p99", "p99_ns", true, false, true, 9},
    {"max", "max_ns", true, false, true, 9},
    {"open", "in_flight", false, false, false, 5},
    {"abnormal", "abnormal", false, false, false, 8},
    {"tails", "tails", false, false, false, 8},
    {"recursive", "recursive", false, false, false, 9},
    {"module", "module", false, true, true, 20},
    {"function", "function", false, true, true, 0},
};
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert((int)FIELDS <= (int)CLI_COLUMNS_MAX, "a listing has room for them");

struct arguments {
    const char *input;
    const struct field *sort;
    bool ascending, follow, coverage, unexecuted;
    uint64_t run, limit, interval_ns;
    enum cli_format format;
};

static int set_sort(void *field, const char *value, struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (size_t i = 0; i < FIELDS; i++) {
        if (!strcmp(fields[i].name, value)) {
            *(const struct field **)field = &fields[i];
            return 0;
        }
        sprof_str_appendf(&names, "%s%s", i ? ", " : "", fields[i].name);
    }
    const int code = sprof_error_set(error, SPROF_EUSAGE, 0, "`%s` is no column: sort by one of %s",
                                     value, names.text ? names.text : "");
    sprof_str_release(&names);
    return code;
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"run", 0, "N", "of this run (the newest that was traced)", FIELD(run), cli_set_positive},
    {"sort", 0, "FIELD", "self, total, calls, average, p99, max, function, … (self)", FIELD(sort),
     set_sort},
    {"asc", 0, NULL, "smallest first", FIELD(ascending), cli_set_flag},
    {"coverage", 0, NULL, "which functions were called, in all runs or the one of --run",
     FIELD(coverage), cli_set_flag},
    {"unexecuted", 0, NULL, "… and of these those that were not", FIELD(unexecuted), cli_set_flag},
    {"limit", 'n', "N", "rows (40 for people, else all)", FIELD(limit), cli_set_positive},
    {"format", 0, "text|csv|json", "for people (text), or for programs: times in nanoseconds",
     FIELD(format), cli_set_format},
    {"follow", 0, NULL, "while the command runs: show the figures anew every now and then",
     FIELD(follow), cli_set_flag},
    {"interval", 0, "TIME", "… this often (2 s)", FIELD(interval_ns), cli_set_duration},
    {0},
};

/* == One row == */

struct view {
    const struct arguments *arguments;
    struct cli_listing listing;
    const struct field *shown[FIELDS];
    size_t count;
};

/* "1.34 µs": three digits, in the largest unit that has one before the point. */
static const char *time_text(char buffer[32], const char *nanoseconds)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    double value = strtod(nanoseconds, NULL);
    size_t unit = 0;
    for (; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buffer, 32, "%.*f %s", decimals, value, units[unit]);
    return buffer;
}

static int show_row(void *context, int columns, char *const *values, char *const *names)
{
    struct view *view = context;
    const char *cells[FIELDS] = {0};
    char texts[FIELDS][32];
    (void)names;
    for (int i = 0; i < columns && (size_t)i < view->count; i++) {
        const bool is_text = view->listing.format == CLI_TEXT;
        cells[i] = !values[i]                           ? is_text ? "–" : ""
                   : is_text && view->shown[i]->is_time ? time_text(texts[i], values[i])
                                                        : values[i];
    }
    cli_listing_row(&view->listing, cells);
    return 0;
}

/* == The command == */

static int note_run(void *context, int columns, char *const *values, char *const *names)
{
    (void)columns;
    (void)names;
    *(uint64_t *)context = values[0] ? strtoull(values[0], NULL, 10) : 0;
    return 0;
}

/* The run asked for, or the newest that was traced. It may have no figures yet. */
static int find_run(struct store *store, const struct arguments *arguments, uint64_t *run,
                    struct sprof_error *error)
{
    char sql[256];
    *run = 0;
    snprintf(sql, sizeof sql,
             "SELECT max(run_id) FROM event WHERE unit = (SELECT number FROM word WHERE list = "
             "'unit' AND word = 'call') AND %llu IN (0, run_id)",
             (unsigned long long)arguments->run);
    const int status = store_query(store, sql, note_run, run, error);
    if (status || *run)
        return status;
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           arguments->run
                               ? "run %llu was not traced: `sprof report --run` shows samples"
                               : "no run of the recording was traced: `sprof trace -- COMMAND` "
                                 "makes one, `sprof report` shows samples",
                           (unsigned long long)arguments->run);
}

static int show(void *context, FILE *out, struct store *store, struct sprof_error *error)
{
    const struct arguments *arguments = context;
    struct view shown = {.arguments = arguments,
                         .listing = {.out = out, .format = arguments->format}};
    struct view *view = &shown;
    const struct field *sort = arguments->sort ? arguments->sort : &fields[0];
    const bool ascending = arguments->ascending || sort->is_text;
    struct cli_column columns[FIELDS];
    struct sprof_str sql = {0};
    uint64_t run;
    const struct cli_coverage_options coverage = {arguments->run, arguments->unexecuted,
                                                  arguments->limit, arguments->format};
    if (arguments->coverage)
        return cli_show_coverage(out, store, &coverage, error);
    int status = find_run(store, arguments, &run, error);
    if (status)
        return status;
    sprof_str_append(&sql, "SELECT ");
    for (size_t i = 0; i < FIELDS; i++) {
        if (view->listing.format == CLI_TEXT && !fields[i].in_text && &fields[i] != sort)
            continue;
        columns[view->count] = (struct cli_column){
            view->listing.format == CLI_TEXT ? fields[i].name : fields[i].column,
            !fields[i].is_text, fields[i].width};
        sprof_str_appendf(&sql, "%s%s", view->count ? ", " : "", fields[i].column);
        view->shown[view->count++] = &fields[i];
    }
    const uint64_t limit = arguments->limit                   ? arguments->limit
                           : view->listing.format == CLI_TEXT ? (uint64_t)ROWS_SHOWN
                                                              : (uint64_t)INT64_MAX;
    sprof_str_appendf(&sql,
                      " FROM v_call_stats WHERE run_id = %llu ORDER BY %s %s NULLS LAST, calls "
                      "DESC, function LIMIT %llu",
                      (unsigned long long)run, sort->column, ascending ? "ASC" : "DESC",
                      (unsigned long long)limit);
    view->listing.columns = columns;
    view->listing.column_count = view->count;
    if (sql.failed) {
        status = sprof_error_memory(error);
    } else {
        cli_listing_begin(&view->listing);
        status = store_query(store, sql.text, show_row, view, error);
        cli_listing_end(&view->listing);
    }
    sprof_str_release(&sql);
    return status;
}

int cli_show_stats(const char *path, enum cli_format format, struct cli_terminal *terminal,
                   struct sprof_error *error)
{
    struct arguments arguments = {.input = path, .format = format};
    struct store *store;
    int status = cli_open_recording(&store, path, terminal, error);
    if (status)
        return status;
    status = show(&arguments, stdout, store, error);
    store_close(store, NULL);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct store *store;
    if (operands->count > 1 || (operands->count && arguments->input))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one recording: `sprof stats sprof.db`");
    if (arguments->interval_ns && !arguments->follow)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--interval goes with --follow");
    if (arguments->unexecuted && !arguments->coverage)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--unexecuted goes with --coverage");
    if (arguments->coverage && (arguments->sort || arguments->ascending))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--coverage is sorted by the first call: --sort and --asc go with "
                               "calls and times");
    if (operands->count)
        arguments->input = operands->items[0];
    if (arguments->follow) {
        const struct cli_follow follow = {.path = arguments->input,
                                          .interval_ns = arguments->interval_ns,
                                          .sql = true,
                                          .show = show,
                                          .context = arguments};
        return cli_follow(&follow, terminal, error);
    }
    int status = cli_open_recording(&store, arguments->input, terminal, error);
    if (status)
        return status;
    status = show(arguments, stdout, store, error);
    store_close(store, NULL);
    return status;
}

const struct cli_command cli_stats_command = {
    .name = "stats",
    .summary = "Show calls and times of the functions that were traced",
    .operands = "[FILE]",
    .options = options,
    .details =
        "self: without the traced functions that it called; total: with them, of outermost calls;\n"
        "average, min, p50, p99 and max: of one call with what it called. A function whose exits\n"
        "cannot be seen has calls only. Figures of a command that runs are at most a second old.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
