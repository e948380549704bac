/* Shows the changes between two groups of runs as a table. */
#include "report/diff_parts.h"
#include "report/format.h"
#include "report/table.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

/* In formats for people. */
enum { USUAL_ROWS = 40 };

static const char *const change_words[] = {
    [MODEL_UNDECIDED] = "needs 3 runs",
    [MODEL_WITHIN_CHANCE] = "within chance",
    [MODEL_GROWN] = "grown",
    [MODEL_SHRUNK] = "shrunk",
    [MODEL_NEW] = "new",
    [MODEL_GONE] = "gone",
};

/* "3.31 s", "31.2 %": a total in the unit compared. */
static void value_text(const struct diff_comparison *comparison, double value, char text[static 64])
{
    char number[NUMBER_BYTES];
    if (comparison->diff->per == REPORT_PER_SAMPLE)
        snprintf(text, 64, "%.2f %%", 100 * value);
    else if (!comparison->is_clock)
        snprintf(text, 64, "%.6g", value);
    else if (comparison->diff->per == REPORT_PER_SECOND)
        snprintf(text, 64, "%.2f %%", value / 1e7);
    else
        snprintf(text, 64, "%s", report_number_length(number, (uint64_t)value));
}

/* A row's value: in % of the total before where runs differ in speed. */
static void row_text(const struct diff_comparison *comparison, const struct diff_result *result,
                     double value, char text[static 64])
{
    const double all = result->total.before;
    if (result->has_speeds && result->speeds.by_share && all > 0)
        snprintf(text, 64, "%.2f %%", 100 * value / all);
    else
        value_text(comparison, value, text);
}

/* "+10.2 %" of what it was; "new", "gone"; "none" before and after. */
static void ratio_text(const struct model_difference *row, char text[static 64])
{
    if (row->before <= 0 || row->after <= 0)
        snprintf(text, 64, "%s", row->before > 0 ? "gone" : row->after > 0 ? "new" : "none");
    else
        snprintf(text, 64, "%+.1f %%", 100 * (row->after / row->before - 1));
}

/* One or two runs show how far samples may be off; of calls, which are all counted, they show
 * nothing. */
static bool has_interval(const struct diff_comparison *comparison)
{
    return !comparison->counts_calls || (comparison->counts[0] >= MODEL_RUNS_FOR_VERDICT &&
                                         comparison->counts[1] >= MODEL_RUNS_FOR_VERDICT);
}

/* Among the columns; of calls there are two, which samples have not. */
enum { INTERVAL_COLUMN = 1, CALLS_COLUMN = 8 };

/* Rows of modules are called like these, and those of keys are in none. */
static bool has_modules(const struct diff_comparison *comparison)
{
    return comparison->diff->by != REPORT_DIFF_MODULES && comparison->diff->by != REPORT_DIFF_KEYS;
}

/* People see the place of a line beside its function; programs have both in one text, too. */
static void add_subject(struct table *table, struct diff_comparison *comparison)
{
    const enum report_diff_by by = comparison->diff->by;
    const bool lines = by == REPORT_DIFF_LINES;
    report_table_column(
        table,
        (struct table_column){.title = lines ? NULL : report_diff_title(comparison),
                              .key = report_diff_column_key(comparison),
                              .kind = TABLE_NAME,
                              .subject = !lines,
                              .only_data = lines,
                              .functions = by == REPORT_DIFF_FUNCTIONS || by == REPORT_DIFF_PATHS});
    if (lines)
        report_table_column(
            table, (struct table_column){
                       .title = "line", .key = "place", .kind = TABLE_NAME, .subject = true});
    if (lines)
        report_table_column(table, (struct table_column){.title = "function",
                                                         .key = "function",
                                                         .kind = TABLE_NAME,
                                                         .functions = true});
    if (has_modules(comparison))
        report_table_column(table, (struct table_column){.title = "module",
                                                         .key = "module",
                                                         .kind = TABLE_NAME,
                                                         .optional = TABLE_DETAIL + 3});
}

static void add_columns(struct table *table, struct diff_comparison *comparison)
{
    const struct table_column columns[] = {
        {.title = "change", .key = "change_percent_of_all", .kind = TABLE_INTERVAL},
        {.title = "±",
         .key = "change_interval",
         .kind = TABLE_INTERVAL,
         .optional = TABLE_DETAIL + 2},
        {.title = "verdict", .key = "verdict", .kind = TABLE_NAME},
        {.title = "own", .key = "own_change", .kind = TABLE_NAME, .optional = TABLE_DETAIL + 1},
        {.title = "before", .key = "before", .kind = TABLE_NAME, .optional = TABLE_DETAIL},
        {.title = "after", .key = "after", .kind = TABLE_NAME, .optional = TABLE_DETAIL},
        {.key = "before_value", .kind = TABLE_INTERVAL, .only_data = true},
        {.key = "after_value", .kind = TABLE_INTERVAL, .only_data = true},
        {.title = "calls before",
         .key = "before_calls",
         .kind = TABLE_COUNT,
         .optional = TABLE_DETAIL + 1},
        {.title = "calls after",
         .key = "after_calls",
         .kind = TABLE_COUNT,
         .optional = TABLE_DETAIL + 1},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if ((i != INTERVAL_COLUMN || has_interval(comparison)) &&
            (i / 2 != CALLS_COLUMN / 2 || comparison->counts_calls))
            report_table_column(table, columns[i]);
    add_subject(table, comparison);
}

static void put_text(struct table *table, struct diff_comparison *comparison, const char *text)
{
    const char *copy = report_utf8_copy(&comparison->arena, text);
    table->failed = table->failed || !copy;
    report_table_put_text(table, copy);
}

/* Calls of a row on one side, in the unit compared, or where that is a share, of a run. */
static uint64_t mean_calls(const struct diff_comparison *comparison, uint32_t row, size_t side)
{
    const size_t first = side ? comparison->counts[0] : 0;
    const size_t count = comparison->counts[side];
    double sum = 0;
    for (size_t run = first; run < first + count; run++)
        sum += (double)comparison->costs.items[row * comparison->run_count + run].samples *
               (comparison->diff->per == REPORT_PER_SECOND ? comparison->runs[run].factor : 1);
    return count ? (uint64_t)(sum / (double)count + 0.5) : 0;
}

/* Calls are counted exactly: where no run of one side has as few, or as many, as one of the other,
 * that is no chance. */
static bool calls_differ(const struct diff_comparison *comparison, uint32_t row)
{
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX}, most[2] = {0, 0};
    for (size_t run = 0; run < comparison->run_count; run++) {
        const size_t side = run >= comparison->counts[0];
        const uint64_t calls = comparison->costs.items[row * comparison->run_count + run].samples;
        least[side] = calls < least[side] ? calls : least[side];
        most[side] = calls > most[side] ? calls : most[side];
    }
    return comparison->counts_calls && (most[0] < least[1] || most[1] < least[0]);
}

static void put_row(struct table *table, struct diff_comparison *comparison,
                    const struct diff_result *result, uint32_t index)
{
    const struct model_difference *row = &result->differences[index];
    const double all = result->total.before > 0 ? result->total.before : 1;
    const double values[] = {row->before, row->after};
    char text[64];
    report_table_put(table, (union table_cell){.points = 100 * (row->after - row->before) / all});
    if (has_interval(comparison))
        report_table_put(table, (union table_cell){.points = 100 * row->half_width / all});
    report_table_put_text(table, change_words[row->change]);
    ratio_text(row, text);
    put_text(table, comparison, text);
    for (size_t i = 0; i < 2; i++) {
        row_text(comparison, result, values[i], text);
        put_text(table, comparison, text);
    }
    for (size_t i = 0; i < 2; i++)
        report_table_put(table, (union table_cell){.points = values[i]});
    for (size_t side = 0; side < 2 && comparison->counts_calls; side++)
        report_table_put(table, (union table_cell){.count = mean_calls(comparison, index, side)});
    report_table_put_text(table, comparison->rows.items[index].name);
    if (comparison->diff->by == REPORT_DIFF_LINES) {
        const struct diff_row *line = &comparison->rows.items[index];
        report_table_put_text(table, line->place ? line->place : "?");
        report_table_put_text(table, line->place ? line->function : line->name);
    }
    if (has_modules(comparison))
        report_table_put_text(table, comparison->rows.items[index].module);
}

/* A verdict that no row has stands once below them, instead of in each. */
static void gather_undecided(struct table *table)
{
    const size_t rows = report_table_rows(table);
    size_t column;
    if (report_table_find_column(table, "verdict", strlen("verdict"), &column, NULL))
        return;
    for (size_t row = 0; row < rows; row++)
        if (strcmp(report_table_cell(table, row, column)->text, change_words[MODEL_UNDECIDED]) != 0)
            return;
    if (!rows)
        return;
    table->columns[column].only_data = true;
    if (sprof_vec_push(&table->notes, "no row has a verdict: verdicts need 3 runs a side"))
        table->failed = true;
}

static const char *title_of(struct diff_comparison *comparison)
{
    char text[160];
    if (comparison->diff->by == REPORT_DIFF_KEYS)
        snprintf(text, sizeof text, "Changes by %s", report_diff_title(comparison));
    else
        snprintf(text, sizeof text, "Changes of %s, %s",
                 report_diff_kinds[comparison->diff->by].plural,
                 comparison->diff->inclusive ? "total" : "self");
    return report_utf8_copy(&comparison->arena, text);
}

enum { SPEED_TEXT = 240 };

/* Writes how far speeds differ, and what that does to verdicts. */
static void speed_text(const struct diff_result *result, char text[static SPEED_TEXT])
{
    const struct model_speeds *speeds = &result->speeds;
    char everything[100] = "", runs[100] = "";
    text[0] = '\0';
    if (!result->has_speeds || !speeds->by_share)
        return;
    if (speeds->everything)
        snprintf(everything, sizeof everything,
                 " · everything %.3g ×: program or machine, cannot be told apart", speeds->between);
    if (speeds->widest >= 1.1)
        snprintf(runs, sizeof runs, " · runs differ by %.1f × in speed", speeds->widest);
    else
        snprintf(runs, sizeof runs, " · runs differ by %.1f %% in speed",
                 100 * (speeds->widest - 1));
    snprintf(text, SPEED_TEXT, "%s%s: judged by share", everything, runs);
}

static const char *note_of(struct diff_comparison *comparison, const struct diff_result *result)
{
    static const char *const units[] = {[REPORT_PER_RUN] = "a run",
                                        [REPORT_PER_SECOND] = "a second",
                                        [REPORT_PER_SAMPLE] = "of all samples"};
    const bool by_share = result->has_speeds && result->speeds.by_share;
    char before[64], after[64], ratio[64], equal[64], verdict[120], speed[SPEED_TEXT], text[740];
    value_text(comparison, result->raw_total.before, before);
    value_text(comparison, result->raw_total.after, after);
    ratio_text(&result->raw_total, ratio);
    ratio_text(&result->total, equal);
    if (by_share)
        snprintf(verdict, sizeof verdict, "at equal speed %s, %s", equal,
                 change_words[result->total.change]);
    else
        snprintf(verdict, sizeof verdict, "%s", change_words[result->total.change]);
    speed_text(result, speed);
    snprintf(text, sizeof text, "%zu run%s before, %zu after · total %s → %s %s (%s%s%s)%s",
             comparison->counts[0], comparison->counts[0] == 1 ? "" : "s", comparison->counts[1],
             before, after, units[comparison->diff->per], ratio, by_share ? "; " : ", ", verdict,
             speed);
    return report_utf8_copy(&comparison->arena, text);
}

/* A row has at least that part of a side where its module, with a name no longer, may be one that
 * was renamed: less is of a library that one run happened to need. */
enum { MUCH_RENAMED_PERCENT = 2, RENAMED_BYTES = 80 };

/* The module with most cost in a row, of those that one side alone has; NULL: none has much. */
static const char *only_in(const struct diff_comparison *comparison,
                           const struct diff_result *result, size_t side)
{
    const char *module = NULL;
    double most = (side ? result->total.after : result->total.before) * MUCH_RENAMED_PERCENT / 100;
    for (size_t i = 0; i < result->count; i++) {
        const struct diff_row *row = &comparison->rows.items[result->order[i]];
        const struct model_difference *costs = &result->differences[result->order[i]];
        const double cost = side ? costs->after : costs->before;
        const uint64_t key = *row->module ? report_diff_module_key(comparison, 1, row->module) : 0;
        if (!key || cost <= most || !sprof_map_get(&comparison->builds[side], key) ||
            sprof_map_get(&comparison->builds[!side], key))
            continue;
        module = row->module;
        most = cost;
    }
    return module;
}

/* Each side has a module that the other lacks: it may be one that was renamed. */
static const char *rename_of(struct diff_comparison *comparison, const struct diff_result *result)
{
    const char *before = only_in(comparison, result, 0), *after = only_in(comparison, result, 1);
    char text[4 * RENAMED_BYTES + 100];
    if (!before || !after || strlen(before) > RENAMED_BYTES || strlen(after) > RENAMED_BYTES)
        return NULL;
    snprintf(text, sizeof text, "%s is only before, %s only after: if they are one, `--map %s=%s`",
             before, after, before, after);
    return report_utf8_copy(&comparison->arena, text);
}

static const char *footer_of(struct diff_comparison *comparison, const struct diff_result *result,
                             size_t shown)
{
    const bool by_share = result->has_speeds && result->speeds.by_share;
    char text[400], more[80] = "", rates[120] = "";
    if (result->count > shown)
        snprintf(more, sizeof more, "… %zu more %s%s · ", result->count - shown,
                 report_diff_kinds[comparison->diff->by].plural,
                 comparison->diff->all_rows ? "" : ", within chance or small");
    if (comparison->least_hz != comparison->most_hz && comparison->least_hz)
        snprintf(rates, sizeof rates,
                 " · sampled at %" PRIu64 " to %" PRIu64
                 " Hz: costs compare, numbers of samples do not",
                 comparison->least_hz, comparison->most_hz);
    else if (comparison->least_hz != comparison->most_hz)
        snprintf(rates, sizeof rates,
                 " · sampled at different rates: costs compare, numbers of samples do not");
    snprintf(text, sizeof text,
             "%s%.1f %% of the cost stands in %s of both sides · %s in %% of the total before%s%s",
             more, 100 * result->matched, report_diff_kinds[comparison->diff->by].plural,
             by_share ? "costs and changes" : "change", by_share ? ", at equal speed" : "", rates);
    return report_utf8_copy(&comparison->arena, text);
}

int report_diff_write_table(FILE *out, struct diff_comparison *comparison,
                            const struct diff_result *result, const struct report_style *style,
                            struct sprof_error *error)
{
    const struct report_diff *diff = comparison->diff;
    const bool brief = !style->format || style->format->brief;
    const size_t most = diff->limit ? diff->limit : brief ? USUAL_ROWS : SIZE_MAX;
    struct table table = {.decimals = 2, .time_unit_ns = 1};
    size_t shown = 0;
    add_columns(&table, comparison);
    for (size_t i = 0; i < result->count && shown < most; i++) {
        const uint32_t index = result->order[i];
        if (brief && !diff->all_rows && result->differences[index].change == MODEL_WITHIN_CHANCE &&
            !calls_differ(comparison, index))
            continue;
        put_row(&table, comparison, result, index);
        shown++;
    }
    if (brief && !table.failed)
        gather_undecided(&table);
    table.title = title_of(comparison);
    table.note = note_of(comparison, result);
    table.left_out = footer_of(comparison, result, shown);
    const char *renamed = rename_of(comparison, result);
    if (renamed && sprof_vec_push(&table.notes, renamed))
        table.failed = true;
    int status = table.failed || !table.title || !table.note || !table.left_out ? SPROF_ENOMEM : 0;
    if (!status && brief && !style->full_names)
        status = report_table_shorten(&table, &comparison->arena);
    if (!status) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &comparison->dataset, .table = &table};
        status = report_content_write(out, &content, style, error);
    }
    report_table_release(&table);
    return status;
}
