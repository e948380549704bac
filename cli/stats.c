/* sprof stats: a table of the functions that were traced, with calls and times. */
#include "cli/stats.h"
#include "cli/commands.h"
#include "cli/controlled.h"
#include "cli/coverage.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/open.h"
#include "cli/stats_footer.h"
#include "cli/values.h"
#include "cli/warnings.h"
#include "control/control.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 40, WARNINGS_SHOWN = 8 };

/* What a row is of. */
enum by { BY_FUNCTION, BY_PROCESS, BY_CALLER };
static const char *const by_words[] = {"function", "process", "caller"};
enum { OF_FUNCTION = 1 << BY_FUNCTION, OF_PROCESS = 1 << BY_PROCESS, OF_CALLER = 1 << BY_CALLER };
enum { OF_TIMED = OF_FUNCTION | OF_PROCESS, OF_ALL = OF_TIMED | OF_CALLER };

/* What can be shown and sorted by. */
enum kind { NUMBER, TIME, PERCENT, ADDRESS, TEXT, FUNCTION };
static const struct field {
    const char *name, *column; /* of the figures below */
    enum kind kind;
    bool in_text; /* people see it without --wide */
    unsigned width, of;
} fields[] = {
    {"self", "self_ns", TIME, true, 9, OF_ALL},
    {"self-percent", "self_percent", PERCENT, true, 12, OF_ALL},
    {"total", "total_ns", TIME, true, 9, OF_TIMED},
    {"total-percent", "total_percent", PERCENT, false, 13, OF_FUNCTION},
    {"calls", "calls", NUMBER, true, 11, OF_ALL},
    {"average", "average_ns", TIME, true, 9, OF_TIMED},
    {"self-average", "self_average_ns", TIME, false, 12, OF_ALL},
    {"min", "min_ns", TIME, false, 9, OF_TIMED},
    {"p50", "p50_ns", TIME, true, 9, OF_FUNCTION},
    {"p90", "p90_ns", TIME, false, 9, OF_FUNCTION},
    {"p99", "p99_ns", TIME, true, 9, OF_FUNCTION},
    {"p999", "p999_ns", TIME, false, 9, OF_FUNCTION},
    {"max", "max_ns", TIME, true, 9, OF_TIMED},
    {"open", "in_flight", NUMBER, false, 5, OF_TIMED},
    {"abnormal", "abnormal", NUMBER, false, 8, OF_TIMED},
    {"tails", "tails", NUMBER, false, 8, OF_TIMED},
    {"tail-cuts", "tail_cuts", NUMBER, false, 9, OF_FUNCTION},
    {"recursive", "recursive", NUMBER, false, 9, OF_TIMED},
    {"counted", "counted", NUMBER, false, 9, OF_TIMED},
    {"uncertain", "uncertain", NUMBER, false, 9, OF_TIMED},
    {"untimed", "untimed_calls", NUMBER, false, 9, OF_FUNCTION},
    {"address", "address", ADDRESS, false, 12, OF_FUNCTION},
    {"probe", "probe_address", ADDRESS, false, 12, OF_FUNCTION},
    {"mechanism", "mechanism", TEXT, false, 9, OF_FUNCTION},
    {"pid", "pid", NUMBER, true, 8, OF_PROCESS | OF_CALLER},
    {"process", "process", TEXT, true, 16, OF_PROCESS | OF_CALLER},
    {"module", "module", TEXT, true, 20, OF_ALL},
    {"caller", "caller", FUNCTION, true, 30, OF_CALLER},
    {"function", "function", FUNCTION, true, 0, OF_ALL},
};
enum { FIELDS = sizeof fields / sizeof *fields };
_Static_assert((int)FIELDS <= (int)CLI_COLUMNS_MAX, "a listing has room for them");

/* Where figures come from, of a run. Processes and callers come from rows that hold less. */
static const char *const figures[] = {
    [BY_FUNCTION] = "SELECT * FROM v_call_stats WHERE run_id = %llu",
    [BY_PROCESS] =
        "SELECT pid, process, module, function, calls, total_ns, self_ns, 100.0 * self_ns / "
        "nullif(sum(self_ns) OVER (), 0) AS self_percent, CASE WHEN outermost > 0 THEN "
        "total_ns / outermost END AS average_ns, CASE WHEN finished > 0 THEN self_ns "
        "/ finished END AS self_average_ns, min_ns, max_ns, in_flight, abnormal, tails, recursive, "
        "counted, uncertain FROM (SELECT r.pid, r.name AS process, m.name AS module, f.name AS "
        "function, "
        "sum(c.calls) AS calls, CASE WHEN max(c.timed) THEN sum(c.total_ns) END AS total_ns, CASE "
        "WHEN max(c.timed) THEN sum(c.self_ns) END AS self_ns, min(c.min_ns) AS min_ns, "
        "max(c.max_ns) AS max_ns, sum(c.in_flight) AS in_flight, sum(c.abnormal) AS abnormal, "
        "sum(c.tails) AS tails, sum(c.recursive) AS recursive, sum(c.counted) AS counted, "
        "sum(c.uncertain) AS uncertain, "
        "sum(c.calls - c.counted - c.in_flight) AS finished, sum(c.calls - c.counted - c.in_flight "
        "- c.recursive + max(c.in_flight - 1, 0)) AS outermost FROM call_cost c JOIN thread t ON "
        "t.id = c.thread_id JOIN process r ON r.id = t.process_id JOIN node_path n ON n.node_id = "
        "c.node_id JOIN call_path p ON p.id = n.path_id JOIN function f ON f.id = p.function_id "
        "JOIN module m ON m.id = f.module_id WHERE c.run_id = %llu GROUP BY r.id, f.id)",
    /* Nobody knows by caller which calls were timed, and have ended: averages are of functions all
     * of whose calls were and have. */
    [BY_CALLER] =
        "WITH untimed AS (SELECT c.run_id, t.process_id, p.function_id, sum(c.counted + "
        "c.in_flight) AS calls FROM call_cost c JOIN thread t ON t.id = c.thread_id JOIN node_path "
        "n ON n.node_id = c.node_id JOIN call_path p ON p.id = n.path_id GROUP BY 1, 2, 3) "
        "SELECT pid, process, module, caller, function, calls, self_ns, 100.0 * self_ns / "
        "nullif(sum(self_ns) OVER (), 0) AS self_percent, CASE WHEN untimed = 0 THEN self_ns / "
        "nullif(calls, 0) END AS self_average_ns FROM (SELECT r.pid, r.name AS process, m.name AS "
        "module, g.name AS caller, f.name AS function, sum(s.count) AS calls, sum(s.weight) AS "
        "self_ns, max(u.calls) AS untimed FROM sample s JOIN thread t ON t.id = s.thread_id JOIN "
        "process r ON r.id = t.process_id JOIN node_path n ON n.node_id = s.node_id JOIN call_path "
        "p ON p.id = n.path_id JOIN function f ON f.id = p.function_id JOIN module m ON m.id = "
        "f.module_id LEFT JOIN call_path q ON q.id = p.parent_id LEFT JOIN function g ON g.id = "
        "q.function_id LEFT JOIN untimed u ON u.run_id = s.run_id AND u.process_id = r.id AND "
        "u.function_id = f.id WHERE s.run_id = %llu GROUP BY r.id, g.id, f.id)",
};

struct arguments {
    const char *input;
    const struct field *sort;
    enum by by;
    bool ascending, follow, coverage, unexecuted, wide, warnings, full_names;
    uint64_t run, limit, interval_ns;
    enum cli_format format;
    struct cli_pids pids;
    char output[INJECT_OUTPUT_BYTES]; /* of that process */
};

static int no_such_field(const char *name, enum by by, struct sprof_error *error)
{
    struct sprof_str names = {0};
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].of & 1u << by)
            sprof_str_appendf(&names, "%s%s", names.length ? ", " : "", fields[i].name);
    const int code = sprof_error_set(
        error, SPROF_EUSAGE, 0, "`%s` is no column%s%s: sort by one of %s", name,
        by ? " of --by " : "", by ? by_words[by] : "", names.text ? names.text : "");
    sprof_str_release(&names);
    return code;
}

static int set_sort(void *field, const char *value, struct sprof_error *error)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (!strcmp(fields[i].name, value) || !strcmp(fields[i].column, value)) {
            *(const struct field **)field = &fields[i];
            return 0;
        }
    return no_such_field(value, BY_FUNCTION, error);
}

static int set_by(void *field, const char *value, struct sprof_error *error)
{
    for (size_t i = 0; i < sizeof by_words / sizeof *by_words; i++)
        if (!strcmp(by_words[i], value)) {
            *(enum by *)field = (enum by)i;
            return 0;
        }
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%s` is nothing that rows can be of: give function, process or caller",
                           value);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"pid", 'p', "PID", "of the trace of this process, as it is now", FIELD(pids), cli_set_pids},
    {"run", 0, "N", "of this run (the newest that was traced)", FIELD(run), cli_set_positive},
    {"sort", 0, "FIELD", "self, total, calls, average, p99, max, function, … (self)", FIELD(sort),
     set_sort},
    {"by", 0, "function|process|caller",
     "a row a function (function), a process and function, or a process, caller and function",
     FIELD(by), set_by},
    {"asc", 0, NULL, "smallest first", FIELD(ascending), cli_set_flag},
    {"wide", 0, NULL, "all columns, for people too: addresses, how it is probed, …", FIELD(wide),
     cli_set_flag},
    {"coverage", 0, NULL, "which functions were called, in all runs or the one of --run",
     FIELD(coverage), cli_set_flag},
    {"unexecuted", 0, NULL, "… and of these those that were not", FIELD(unexecuted), cli_set_flag},
    {"warnings", 0, NULL,
     "what --warn-over, --watchdog, --stack-check and --heap-check have warned of", FIELD(warnings),
     cli_set_flag},
    {"limit", 'n', "N", "at most so many rows; 0: all (for people: 40)", FIELD(limit),
     cli_set_rows},
    {"format", 0, "text|csv|json", "for people (text), or for programs: times in nanoseconds",
     FIELD(format), cli_set_format},
    {"full-names", 0, NULL, "functions with parameters and template arguments, in text too",
     FIELD(full_names), cli_set_flag},
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
    struct cli_stats_shown footer;
};

/* Values hold, behind those shown, how many calls are uncertain. */
static void note_uncertain(struct view *view, int columns, char *const *values)
{
    const size_t count = view->count;
    if ((size_t)columns <= count || !values[count] || !strcmp(values[count], "0"))
        return;
    struct cli_stats_shown *footer = &view->footer;
    if (footer->uncertain++ < CLI_STATS_NAMES)
        sprof_str_appendf(&footer->uncertain_names, "%s%s", footer->uncertain > 1 ? ", " : "",
                          values[count - 1]);
}

static const char *cell_text(char buffer[32], enum kind kind, const char *value)
{
    switch (kind) {
    case TIME: return cli_time_text(buffer, value);
    case PERCENT: snprintf(buffer, 32, "%.1f %%", strtod(value, NULL)); return buffer;
    case ADDRESS: snprintf(buffer, 32, "0x%llx", strtoull(value, NULL, 10)); return buffer;
    case NUMBER:
    case TEXT:
    case FUNCTION: break;
    }
    return value;
}

static int show_row(void *context, int columns, char *const *values, char *const *names)
{
    struct view *view = context;
    const char *cells[FIELDS] = {0};
    char texts[FIELDS][32];
    (void)names;
    for (int i = 0; i < columns && (size_t)i < view->count; i++) {
        const bool is_text = view->listing.format == CLI_TEXT;
        const enum kind kind = view->shown[i]->kind;
        cells[i] = !values[i]                   ? is_text ? "–" : NULL
                   : is_text || kind == ADDRESS ? cell_text(texts[i], kind, values[i])
                                                : values[i];
    }
    note_uncertain(view, columns, values);
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

/* Runs may be taken away, so their numbers need not follow each other. */
static int check_run(struct store *store, uint64_t run, struct sprof_error *error)
{
    uint64_t found = 0;
    char sql[64];
    snprintf(sql, sizeof sql, "SELECT id FROM run WHERE id = %llu", (unsigned long long)run);
    const int status = run ? store_query(store, sql, note_run, &found, error) : 0;
    return status || found == run
               ? status
               : sprof_error_set(
                     error, SPROF_ENOTFOUND, 0,
                     "there is no run %llu: `sprof sql 'SELECT id FROM run'` lists them",
                     (unsigned long long)run);
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

/* Whether a run was of mode coverage all the time: it has no figures. */
static int is_coverage(struct store *store, uint64_t run, uint64_t *is, struct sprof_error *error)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT EXISTS (SELECT 1 FROM entry_coverage WHERE run_id = %1$llu) AND NOT EXISTS "
             "(SELECT 1 FROM call_cost WHERE run_id = %1$llu)",
             (unsigned long long)run);
    *is = 0;
    return store_query(store, sql, note_run, is, error);
}

/* How many rows there are that are not shown. */
static int tell_more(const struct view *view, struct store *store, uint64_t run,
                     struct sprof_error *error)
{
    uint64_t count = 0;
    struct sprof_str sql = {0};
    sprof_str_append(&sql, "SELECT count(*) FROM (");
    sprof_str_appendf(&sql, figures[view->arguments->by], (unsigned long long)run);
    sprof_str_append(&sql, ")");
    const int status = sql.failed ? sprof_error_memory(error)
                                  : store_query(store, sql.text, note_run, &count, error);
    if (!status && count > view->listing.rows)
        fprintf(view->listing.out, "  … and %llu more: -n 0 shows them\n",
                (unsigned long long)count - view->listing.rows);
    sprof_str_release(&sql);
    return status;
}

static int show(void *context, FILE *out, struct store *store, struct sprof_error *error)
{
    const struct arguments *arguments = context;
    struct view shown = {
        .arguments = arguments,
        .listing = {.out = out, .format = arguments->format, .full_names = arguments->full_names}};
    struct view *view = &shown;
    const struct field *sort = arguments->sort ? arguments->sort : &fields[0];
    const bool ascending = arguments->ascending || sort->kind >= TEXT;
    struct cli_column columns[FIELDS];
    struct sprof_str sql = {0};
    uint64_t run, covered;
    struct cli_coverage_options coverage = {arguments->run, arguments->unexecuted, arguments->limit,
                                            arguments->format, arguments->full_names};
    int status = check_run(store, arguments->run, error);
    if (!status && arguments->coverage)
        return cli_show_coverage(out, store, &coverage, error);
    if (!status)
        status = find_run(store, arguments, &run, error);
    if (status)
        return status;
    const struct cli_warnings_options warnings = {
        run, arguments->warnings ? arguments->limit : WARNINGS_SHOWN, arguments->format,
        !arguments->warnings, arguments->full_names};
    if (arguments->warnings)
        return cli_show_warnings(out, store, &warnings, error);
    status = is_coverage(store, run, &covered, error);
    if (!status && covered && arguments->format == CLI_TEXT) {
        coverage.run = run;
        return cli_show_coverage(out, store, &coverage, error);
    }
    if (status)
        return status;
    sprof_str_append(&sql, "SELECT ");
    for (size_t i = 0; i < FIELDS; i++) {
        if (!(fields[i].of & 1u << arguments->by))
            continue;
        if (view->listing.format == CLI_TEXT && !fields[i].in_text && !arguments->wide &&
            &fields[i] != sort)
            continue;
        columns[view->count] = (struct cli_column){
            view->listing.format == CLI_TEXT ? fields[i].name : fields[i].column,
            fields[i].kind < ADDRESS, fields[i].width};
        if (fields[i].kind == FUNCTION)
            view->listing.functions |= 1u << view->count;
        sprof_str_appendf(&sql, "%s%s", view->count ? ", " : "", fields[i].column);
        view->footer.has_total_percent |= !strcmp(fields[i].name, "total-percent");
        view->shown[view->count++] = &fields[i];
    }
    view->footer.by_caller = arguments->by == BY_CALLER;
    if (arguments->by != BY_CALLER)
        sprof_str_append(&sql, ", uncertain");
    const uint64_t limit = arguments->limit                   ? arguments->limit
                           : view->listing.format == CLI_TEXT ? (uint64_t)ROWS_SHOWN
                                                              : (uint64_t)INT64_MAX;
    sprof_str_append(&sql, " FROM (");
    sprof_str_appendf(&sql, figures[arguments->by], (unsigned long long)run);
    sprof_str_appendf(&sql, ") ORDER BY %s %s NULLS LAST, calls DESC, function LIMIT %llu",
                      sort->column, ascending ? "ASC" : "DESC", (unsigned long long)limit);
    view->listing.columns = columns;
    view->listing.column_count = view->count;
    if (sql.failed) {
        status = sprof_error_memory(error);
    } else {
        cli_listing_begin(&view->listing);
        status = store_query(store, sql.text, show_row, view, error);
        if (cli_listing_end(&view->listing) && !status)
            status = sprof_error_memory(error);
    }
    if (!status && view->listing.format == CLI_TEXT && view->listing.rows == limit)
        status = tell_more(view, store, run, error);
    if (!status && view->listing.format == CLI_TEXT)
        status = cli_show_stats_footer(out, store, run, &view->footer, error);
    sprof_str_release(&sql);
    sprof_str_release(&view->footer.uncertain_names);
    if (!status && arguments->follow && arguments->format == CLI_TEXT)
        status = cli_show_warnings(out, store, &warnings, error);
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

/* The recording that a process is traced into, up to now. Who traces it may have been killed. */
static int choose_process(struct arguments *arguments, struct sprof_error *error)
{
    bool is_alive;
    struct sprof_str answer = {0};
    if (arguments->pids.list.count > 1 || arguments->input)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "give one -p PID, or one recording");
    int status = cli_find_controlled(*arguments->pids.list.items, CLI_CONTROL_TRACE,
                                     arguments->output, &is_alive, error);
    arguments->input = arguments->output;
    if (status == SPROF_ESTATE)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being traced, or not by you: `sprof trace -p %d` "
                               "traces it, `sprof stats FILE` shows a trace that is over",
                               (int)*arguments->pids.list.items, (int)*arguments->pids.list.items);
    if (!status && is_alive)
        status = control_send(arguments->input, CONTROL_OF_CALLER, "stats", &answer, error);
    sprof_str_release(&answer);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct store *store;
    arguments->coverage |= arguments->unexecuted; /* only coverage has them */
    if (operands->count > 1 || (operands->count && arguments->input))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "give one recording: `sprof stats sprof.db`");
    if (arguments->interval_ns && !arguments->follow)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--interval goes with --follow");
    if (arguments->sort && !(arguments->sort->of & 1u << arguments->by))
        return no_such_field(arguments->sort->name, arguments->by, error);
    if (arguments->by && (arguments->coverage || arguments->warnings))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--by goes with figures, not with --%s",
                               arguments->coverage ? "coverage" : "warnings");
    if (arguments->coverage && (arguments->sort || arguments->ascending))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--coverage is sorted by the first call: --sort and --asc go with "
                               "calls and times");
    if (arguments->warnings && (arguments->sort || arguments->ascending || arguments->coverage))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--warnings is in the order of time: --sort, --asc and --coverage "
                               "show something else");
    if (operands->count)
        arguments->input = operands->items[0];
    if (arguments->pids.list.count) {
        const int found = choose_process(arguments, error);
        if (found)
            return found;
    }
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

static void release(void *all)
{
    struct arguments *arguments = all;
    sprof_vec_release(&arguments->pids.list);
}

const struct cli_command cli_stats_command = {
    .name = "stats",
    .summary = "Show calls and times of the functions that were traced",
    .operands = "[FILE]",
    .options = options,
    .details =
        "self: without the traced functions that it called; total: with them, of outermost calls;\n"
        "average, min, p50, p99 and max: of one call with what it called. A function whose exits\n"
        "cannot be seen has calls only. self-percent is of the self time of all probed functions,\n"
        "total-percent of the wall time of the threads that called one, without pauses. untimed:\n"
        "calls that it made of functions which are only counted: its self time holds theirs.\n"
        "tails: calls that ended with the function they called last, by a jump. tail-cuts: those "
        "of\n"
        "them whose total ends at the jump, as there were 64 others, or one of the same function.\n"
        "uncertain: calls whose self time may hold that in which a coroutine was suspended.\n"
        "Figures of a command that runs are at most a second old.\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
