/* Columns that several tables have, and their cells. The order of cells is that of columns. */
#ifndef SPROF_REPORT_COLUMNS_H
#define SPROF_REPORT_COLUMNS_H

#include "report/table.h"

enum measure_figure {
    MEASURE_PERCENT,
    MEASURE_INTERVAL,
    MEASURE_TIME,
    MEASURE_SAMPLES,
    MEASURE_WEIGHT,
    MEASURE_OF_FUNCTION, /* percent of function_cost */
    MEASURE_OF_ALL,      /* percent of the samples before filters */
    MEASURE_FIGURES,
};

/* One of the ways to count. */
struct measure {
    const char *title; /* text: of the first percent column */
    const char *keys[MEASURE_FIGURES];
    bool with_below;         /* counts what is below, too */
    bool ranking;            /* "6.1 %  0.8  0.22 s  61": else samples first, and no interval */
    const char *of_function; /* text: title of a percent column of function_cost; NULL none */
    struct model_cost function_cost;
};

/* Of percentages in text: a tenth of a percent of few samples means nothing; calls are counted. */
unsigned report_columns_decimals(const struct report_dataset *dataset, struct model_cost whole);

extern const struct measure report_measure_exclusive, report_measure_inclusive,
    report_measure_share;

/* What the exclusive measure is called: of calls it holds the time outside of the traced modules,
 * where that was measured. */
const char *report_columns_self(const struct report_dataset *dataset);

/* Starts a table: titles, decimals, unit of time. */
void report_columns_begin(struct table *table, const struct report_dataset *dataset,
                          const char *title, const char *note);

/* The time of calls that was outside of the traced modules. */
void report_columns_outside(struct table *table);

void report_columns_measure(struct table *table, const struct report_dataset *dataset,
                            const struct measure *measure);

/* Adds the cells of a measure. */
void report_cells_measure(struct table *table, const struct report_dataset *dataset,
                          const struct measure *measure, struct model_cost cost);

/* "6 samples" or "3.63 s": what percentages are of, and what was selected. In the arena; NULL when
 * out of memory. */
const char *report_columns_base(struct report_dataset *dataset);

/* What shares are of, as a word: "time" or "samples". */
const char *report_columns_amount(const struct report_dataset *dataset);

/* Whether a row has at least this share of the base. */
bool report_columns_enough(const struct report_dataset *dataset, struct model_cost cost,
                           struct model_cost base, double min_percent);

/* Sets the line "… 34 more functions, self 12.3 % together" where rows > 0: `one` and
 * `many` are the word for what a row is; `cost` NULL: without a share. 0 or SPROF_ENOMEM. */
int report_columns_left_out(struct report_dataset *dataset, struct table *table, uint64_t rows,
                            const char *one, const char *many, const struct model_cost *cost);

#endif
