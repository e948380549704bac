/* Makes the columns and cells that several tables have. */
#include "report/columns.h"

#include "report/number_format.h"
#include "report/quality.h"
#include "report/utf8_text.h"

#include <assert.h>
#include <inttypes.h>

/* What goes first where the page is too narrow. */
enum {
    KEEP = TABLE_STAYS,
    DROP_OF_ALL = TABLE_SECOND,
    DROP_SECOND_SHARE,
    DROP_SAMPLES = TABLE_DETAIL,
    DROP_TIME,
    DROP_SECOND_MEASURE,
    DROP_INTERVAL
};

/* Fewer samples than this do not separate tenths of a percent. */
enum { FEW_SAMPLES = 1000 };

#define KEYS(measure)                                                                              \
    {                                                                                              \
        [MEASURE_PERCENT] = measure "_percent", [MEASURE_INTERVAL] = measure "_interval",          \
        [MEASURE_TIME] = measure "_seconds", [MEASURE_SAMPLES] = measure "_samples",               \
        [MEASURE_WEIGHT] = measure "_weight",                                                      \
        [MEASURE_OF_FUNCTION] = measure "_percent_of_function",                                    \
        [MEASURE_OF_ALL] = measure "_percent_of_all",                                              \
    }

const struct measure report_measure_exclusive = {
    .title = "self", .keys = KEYS("exclusive"), .ranking = true};
const struct measure report_measure_inclusive = {
    .title = "total", .keys = KEYS("inclusive"), .with_below = true, .ranking = true};
/* Where the two are the same: threads, processes. */
const struct measure report_measure_share = {
    .title = "share", .keys = KEYS("inclusive"), .ranking = true};

unsigned report_columns_decimals(const struct report_dataset *dataset, struct model_cost whole)
{
    return whole.samples < FEW_SAMPLES && !report_counts_calls(dataset) ? 0 : 1;
}

void report_columns_begin(struct table *table, const struct report_dataset *dataset,
                          const char *title, const char *note)
{
    *table = (struct table){
        .title = title,
        .note = note,
        .decimals = report_columns_decimals(dataset, dataset->total),
        .time_unit_ns = report_number_time_unit(dataset->total.weight),
    };
}

/* What a figure is in every table. */
static const struct {
    const char *base;
    enum table_kind kind;
    unsigned optional;
} figures[MEASURE_FIGURES] = {
    [MEASURE_PERCENT] = {"all", TABLE_PERCENT, KEEP},
    [MEASURE_INTERVAL] = {NULL, TABLE_INTERVAL, DROP_INTERVAL},
    [MEASURE_TIME] = {NULL, TABLE_TIME, DROP_TIME},
    [MEASURE_SAMPLES] = {NULL, TABLE_COUNT, DROP_SAMPLES},
    [MEASURE_WEIGHT] = {NULL, TABLE_COUNT, KEEP},
    [MEASURE_OF_FUNCTION] = {"function", TABLE_PERCENT, KEEP},
    [MEASURE_OF_ALL] = {"all", TABLE_PERCENT, KEEP},
};

const char *report_columns_self(const struct report_dataset *dataset)
{
    return dataset->counted.has_outside ? "self+outside" : report_measure_exclusive.title;
}

/* Without a title the column is only data. */
static void figure_column(struct table *table, const struct report_dataset *dataset,
                          const struct measure *measure, enum measure_figure figure,
                          const char *title)
{
    const struct model_cost whole = figure == MEASURE_OF_FUNCTION ? measure->function_cost
                                    : figure == MEASURE_OF_ALL    ? dataset->all
                                                                  : dataset->total;
    const bool of_selection = figure == MEASURE_PERCENT && dataset->chosen.is_part;
    report_table_column(table, (struct table_column){
                                   .title = title,
                                   .key = measure->keys[figure],
                                   .base = of_selection ? "selection" : figures[figure].base,
                                   .kind = figures[figure].kind,
                                   .only_data = !title,
                                   .optional = figures[figure].optional,
                                   .whole = report_dataset_value(dataset, whole),
                                   .decimals = report_columns_decimals(dataset, whole),
                               });
}

/* Events of several units have no common one. */
static bool shows_time(const struct report_dataset *dataset)
{
    return dataset->event.is_clock && !report_dataset_mixes_events(dataset);
}

/* A function's inclusive samples are those that hold it; of calls they are its own and those below,
 * which is not how often it was called. */
static const char *count_title(const struct report_dataset *dataset, const struct measure *measure)
{
    const bool is_below =
        measure->with_below && (!measure->ranking || report_dataset_has_paths(dataset));
    return !report_counts_calls(dataset) ? "samples" : is_below ? "in or below" : "calls";
}

static const char *title_of(const struct report_dataset *dataset, const struct measure *measure)
{
    return measure->title == report_measure_exclusive.title ? report_columns_self(dataset)
                                                            : measure->title;
}

static void ranking_columns(struct table *table, const struct report_dataset *dataset,
                            const struct measure *measure)
{
    figure_column(table, dataset, measure, MEASURE_PERCENT, title_of(dataset, measure));
    if (!report_counts_calls(dataset))
        figure_column(table, dataset, measure, MEASURE_INTERVAL, "±");
    if (dataset->chosen.is_part)
        figure_column(table, dataset, measure, MEASURE_OF_ALL, "of all");
    if (shows_time(dataset))
        figure_column(table, dataset, measure, MEASURE_TIME, "time");
    figure_column(table, dataset, measure, MEASURE_SAMPLES, count_title(dataset, measure));
    figure_column(table, dataset, measure, MEASURE_WEIGHT, NULL);
}

static void tree_columns(struct table *table, const struct report_dataset *dataset,
                         const struct measure *measure)
{
    figure_column(table, dataset, measure, MEASURE_SAMPLES, count_title(dataset, measure));
    if (measure->of_function)
        figure_column(table, dataset, measure, MEASURE_OF_FUNCTION, measure->of_function);
    figure_column(table, dataset, measure, MEASURE_PERCENT, title_of(dataset, measure));
    if (dataset->chosen.is_part)
        figure_column(table, dataset, measure, MEASURE_OF_ALL, "of all");
    if (shows_time(dataset))
        figure_column(table, dataset, measure, MEASURE_TIME, "time");
    figure_column(table, dataset, measure, MEASURE_WEIGHT, NULL);
}

void report_columns_measure(struct table *table, const struct report_dataset *dataset,
                            const struct measure *measure)
{
    const size_t first = table->column_count;
    (measure->ranking ? ranking_columns : tree_columns)(table, dataset, measure);
    if (!first)
        return;
    table->columns[first].apart = true;
    /* The second measure is for comparison: its details are left to CSV and JSON. */
    for (size_t c = first; c < table->column_count; c++) {
        struct table_column *column = &table->columns[c];
        const bool is_count = column->kind == TABLE_COUNT && report_counts_calls(dataset);
        if (column->key != measure->keys[MEASURE_PERCENT] && !is_count)
            column->only_data = true;
        column->optional = is_count ? DROP_SECOND_MEASURE : DROP_SECOND_SHARE;
    }
}

void report_columns_outside(struct table *table)
{
    report_table_column(table, (struct table_column){.title = "outside",
                                                     .key = "outside_seconds",
                                                     .kind = TABLE_TIME,
                                                     .optional = DROP_TIME});
}

static void put_interval(struct table *table, const struct report_dataset *dataset,
                         struct model_cost cost)
{
    const struct model_interval interval = model_share_interval(
        report_dataset_value(dataset, cost), report_dataset_value(dataset, dataset->total),
        dataset->effective_samples);
    const double points = (interval.high - interval.low) / 2 * 100;
    report_table_put(table, (union table_cell){.points = points});
}

void report_cells_measure(struct table *table, const struct report_dataset *dataset,
                          const struct measure *measure, struct model_cost cost)
{
    const uint64_t value = report_dataset_value(dataset, cost);
    if (!measure->ranking)
        report_table_put_count(table, cost.samples);
    if (measure->of_function)
        report_table_put_count(table, value);
    report_table_put_count(table, value);
    if (measure->ranking && !report_counts_calls(dataset))
        put_interval(table, dataset, cost);
    if (dataset->chosen.is_part)
        report_table_put_count(table, value);
    if (shows_time(dataset))
        report_table_put_count(table, cost.weight);
    if (measure->ranking)
        report_table_put_count(table, cost.samples);
    report_table_put_count(table, cost.weight);
}

static bool is_off_cpu(const struct report_dataset *dataset)
{
    return report_dataset_reads_waits(dataset) && dataset->event_sum != REPORT_ON_AND_OFF;
}

/* "% of 1 234 cycles", and where a tracepoint's field is the weight: "% of 1 234 bytes of
 * block:block_rq_issue". */
static void append_amount(struct sprof_str *text, uint64_t weight, const char *event)
{
    static const char mark[] = "/weight=";
    const char *at = strstr(event, mark), *field = at ? at + sizeof mark - 1 : event;
    const int length = (int)(at ? strcspn(field, "/") : strlen(field));
    sprof_str_appendf(text, "%% of %s %.*s", sprof_digits_of(weight).text, length, field);
    if (at)
        sprof_str_appendf(text, " of %.*s", (int)(at - event), event);
}

const char *report_columns_base(struct report_dataset *dataset)
{
    char number[NUMBER_BYTES];
    const struct model_cost total = dataset->total;
    struct sprof_str text = {0};
    if (dataset->weighted && dataset->event.is_clock)
        sprof_str_appendf(
            &text, "%% of %s %s",
            report_number_time(number, total.weight, report_number_time_unit(total.weight)),
            report_counts_calls(dataset)           ? "in probed functions"
            : is_off_cpu(dataset)                  ? "without a CPU"
            : report_quality_sees_waiting(dataset) ? "of threads' time"
                                                   : "of CPU time");
    else if (dataset->weighted)
        append_amount(&text, total.weight, dataset->event.name);
    else
        sprof_str_appendf(&text, "%% of %s sample%s", sprof_digits_of(total.samples).text,
                          sprof_plural(total.samples));
    if (dataset->chosen.text)
        sprof_str_append(&text, dataset->chosen.text);
    return report_utf8_keep(&dataset->arena, &text);
}

const char *report_columns_amount(const struct report_dataset *dataset)
{
    const bool is_time = dataset->weighted && dataset->event.is_clock;
    return is_time || report_counts_calls(dataset) ? "time" : "samples";
}

bool report_columns_enough(const struct report_dataset *dataset, struct model_cost cost,
                           struct model_cost base, double min_percent)
{
    return report_number_share(report_dataset_value(dataset, cost),
                               report_dataset_value(dataset, base)) >= min_percent;
}

int report_columns_left_out(struct report_dataset *dataset, struct table *table, uint64_t rows,
                            const char *one, const char *many, const struct model_cost *cost)
{
    char share[NUMBER_BYTES], text[200];
    if (!rows)
        return 0;
    int length = snprintf(text, sizeof text, "… %s more %s", sprof_digits_of(rows).text,
                          rows == 1 ? one : many);
    if (cost)
        length += snprintf(text + length, sizeof text - (size_t)length, ", %s %s together",
                           report_columns_self(dataset),
                           report_number_percent(share, report_dataset_value(dataset, *cost),
                                                 report_dataset_value(dataset, dataset->total),
                                                 table->decimals));
    table->left_out = sprof_arena_copy(&dataset->arena, text, (size_t)length);
    return table->left_out ? 0 : SPROF_ENOMEM;
}
