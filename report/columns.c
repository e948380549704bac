#include "report/columns.h"

#include "report/number_format.h"
#include "report/utf8_text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

const struct measure measure_exclusive = {
    .title = "self",
    .keys = {[MEASURE_PERCENT] = "exclusive_percent",
             [MEASURE_INTERVAL] = "exclusive_interval",
             [MEASURE_TIME] = "exclusive_seconds",
             [MEASURE_SAMPLES] = "exclusive_samples",
             [MEASURE_WEIGHT] = "exclusive_weight",
             [MEASURE_OF_FOCUS] = "exclusive_percent_of_function"},
    .ranking = true,
};

const struct measure measure_inclusive = {
    .title = "total",
    .keys = {[MEASURE_PERCENT] = "inclusive_percent",
             [MEASURE_INTERVAL] = "inclusive_interval",
             [MEASURE_TIME] = "inclusive_seconds",
             [MEASURE_SAMPLES] = "inclusive_samples",
             [MEASURE_WEIGHT] = "inclusive_weight",
             [MEASURE_OF_FOCUS] = "inclusive_percent_of_function"},
    .ranking = true,
};

void report_table_release(struct table *table)
{
    sprof_vec_release(&table->rows);
}

void report_table_column(struct table *table, struct table_column column)
{
    assert(table->column_count < TABLE_COLUMNS);
    table->columns[table->column_count++] = column;
}

const char *report_table_cell_number(char buffer[static NUMBER_BYTES], enum table_kind kind,
                                     const struct table_cell *cell)
{
    switch (kind) {
    case TABLE_COUNT: snprintf(buffer, NUMBER_BYTES, "%" PRIu64, cell->part); return buffer;
    case TABLE_PERCENT:
        snprintf(buffer, NUMBER_BYTES, "%.10g", report_number_share(cell->part, cell->whole));
        return buffer;
    case TABLE_INTERVAL: snprintf(buffer, NUMBER_BYTES, "%.10g", cell->points); return buffer;
    case TABLE_TIME: return report_number_seconds(buffer, cell->part);
    case TABLE_NAME:
    case TABLE_PATH: return NULL;
    }
    return NULL;
}

void columns_begin(struct table *table, const struct report_dataset *dataset, const char *title,
                   const char *note)
{
    *table = (struct table){
        .title = title,
        .note = note,
        /* Fewer samples than this do not tell tenths of a percent apart. */
        .decimals = dataset->total.samples < 1000 ? 0 : 1,
        .time_unit_ns = report_number_time_unit(dataset->total.weight),
    };
}

/* What a figure is in every table. */
static const struct {
    const char *base;
    enum table_kind kind;
} figures[MEASURE_FIGURES] = {
    [MEASURE_PERCENT] = {"all", TABLE_PERCENT}, [MEASURE_INTERVAL] = {NULL, TABLE_INTERVAL},
    [MEASURE_TIME] = {NULL, TABLE_TIME},        [MEASURE_SAMPLES] = {NULL, TABLE_COUNT},
    [MEASURE_WEIGHT] = {NULL, TABLE_COUNT},     [MEASURE_OF_FOCUS] = {"function", TABLE_PERCENT},
};

/* Without a title the column is only data. */
static void figure_column(struct table *table, const struct measure *measure,
                          enum measure_figure figure, const char *title)
{
    report_table_column(table, (struct table_column){.group = measure->group,
                                                     .title = title,
                                                     .key = measure->keys[figure],
                                                     .base = figures[figure].base,
                                                     .kind = figures[figure].kind,
                                                     .only_data = !title});
}

static void ranking_columns(struct table *table, const struct report_dataset *dataset,
                            const struct measure *measure)
{
    figure_column(table, measure, MEASURE_PERCENT, measure->title);
    figure_column(table, measure, MEASURE_INTERVAL, "±");
    if (dataset->event.is_clock)
        figure_column(table, measure, MEASURE_TIME, "time");
    figure_column(table, measure, MEASURE_SAMPLES, "samples");
    figure_column(table, measure, MEASURE_WEIGHT, NULL);
}

static void tree_columns(struct table *table, const struct report_dataset *dataset,
                         const struct measure *measure)
{
    figure_column(table, measure, MEASURE_SAMPLES, "samples");
    if (measure->focus)
        figure_column(table, measure, MEASURE_OF_FOCUS, measure->focus);
    figure_column(table, measure, MEASURE_PERCENT, "of all");
    if (dataset->event.is_clock)
        figure_column(table, measure, MEASURE_TIME, "time");
    figure_column(table, measure, MEASURE_WEIGHT, NULL);
}

void columns_measure(struct table *table, const struct report_dataset *dataset,
                     const struct measure *measure)
{
    const size_t first = table->column_count;
    (measure->ranking ? ranking_columns : tree_columns)(table, dataset, measure);
    if (!first)
        return;
    table->columns[first].apart = true;
    /* In a ranking the second measure is for comparison: its details are left to CSV and JSON. */
    for (size_t c = first; c < table->column_count; c++)
        if (measure->ranking &&
            (table->columns[c].kind == TABLE_INTERVAL || table->columns[c].kind == TABLE_TIME))
            table->columns[c].only_data = true;
}

static void cell_share(struct table_cell **at, const struct report_dataset *dataset,
                       struct model_cost part, struct model_cost whole)
{
    *(*at)++ = (struct table_cell){.part = report_dataset_value(dataset, part),
                                   .whole = report_dataset_value(dataset, whole)};
}

static void cell_interval(struct table_cell **at, const struct report_dataset *dataset,
                          struct model_cost cost)
{
    const struct model_interval interval = model_share_interval(
        report_dataset_value(dataset, cost), report_dataset_value(dataset, dataset->total),
        dataset->effective_samples);
    *(*at)++ = (struct table_cell){.points = (interval.high - interval.low) / 2 * 100};
}

void cells_measure(struct table_cell **at, const struct report_dataset *dataset,
                   const struct measure *measure, struct model_cost cost)
{
    if (!measure->ranking)
        cell_count(at, cost.samples);
    if (measure->focus)
        cell_share(at, dataset, cost, measure->focus_cost);
    cell_share(at, dataset, cost, dataset->total);
    if (measure->ranking)
        cell_interval(at, dataset, cost);
    if (dataset->event.is_clock)
        cell_count(at, cost.weight);
    if (measure->ranking)
        cell_count(at, cost.samples);
    cell_count(at, cost.weight);
}

const char *columns_base(struct report_dataset *dataset)
{
    char number[NUMBER_BYTES];
    const struct model_cost total = dataset->total;
    struct sprof_str text = {0};
    if (dataset->weighted && dataset->event.is_clock)
        sprof_str_appendf(
            &text, "%% of %s of CPU time",
            report_number_time(number, total.weight, report_number_time_unit(total.weight)));
    else if (dataset->weighted)
        sprof_str_appendf(&text, "%% of %s %s", report_number_grouped(number, total.weight),
                          dataset->event.name);
    else
        sprof_str_appendf(&text, "%% of %s sample%s", report_number_grouped(number, total.samples),
                          report_number_plural(total.samples));
    if (dataset->process)
        sprof_str_appendf(&text, " in process %s", dataset->process);
    if (dataset->thread)
        sprof_str_appendf(&text, " in thread %s", dataset->thread);
    return report_utf8_keep(&dataset->arena, &text);
}

bool columns_enough(const struct report_dataset *dataset, struct model_cost cost,
                    double min_percent)
{
    return report_number_share(report_dataset_value(dataset, cost),
                               report_dataset_value(dataset, dataset->total)) >= min_percent;
}

const char *columns_left_out(struct report_dataset *dataset, const struct table *table,
                             uint64_t rows, const char *what, struct model_cost cost)
{
    char count[NUMBER_BYTES], share[NUMBER_BYTES], text[200];
    report_number_grouped(count, rows);
    report_number_percent(share, report_dataset_value(dataset, cost),
                          report_dataset_value(dataset, dataset->total), table->decimals);
    const int length = snprintf(text, sizeof text, "… %s more %s%s, exclusive %s together", count,
                                what, report_number_plural(rows), share);
    return sprof_arena_copy(&dataset->arena, text, (size_t)length);
}
