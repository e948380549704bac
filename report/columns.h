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
    MEASURE_OF_FOCUS, /* percent of focus_cost */
    MEASURE_FIGURES,
};

/* One of the two ways to count. */
struct measure {
    const char *group; /* text: above the titles; NULL */
    const char *title; /* text: of the first percent column */
    const char *keys[MEASURE_FIGURES];
    bool ranking;      /* "6.1 %  0.8  0.22 s  61": else samples first, and no interval */
    const char *focus; /* text: title of a percent column of focus_cost; NULL none */
    struct model_cost focus_cost;
};

extern const struct measure measure_exclusive, measure_inclusive;

/* Starts a table: titles, decimals, unit of time. */
void columns_begin(struct table *table, const struct report_dataset *dataset, const char *title,
                   const char *note);

void columns_measure(struct table *table, const struct report_dataset *dataset,
                     const struct measure *measure);

/* Fills the cells of a measure from *at on, and moves *at behind them. */
void cells_measure(struct table_cell **at, const struct report_dataset *dataset,
                   const struct measure *measure, struct model_cost cost);

static inline void cell_text(struct table_cell **at, const char *text)
{
    *(*at)++ = (struct table_cell){.text = text};
}

static inline void cell_count(struct table_cell **at, uint64_t count)
{
    *(*at)++ = (struct table_cell){.part = count};
}

/* "6 samples" or "3.63 s": what percentages of all are of. In the arena; NULL when out of memory.
 */
const char *columns_base(struct report_dataset *dataset);

/* Which share a row needs to stay. */
bool columns_enough(const struct report_dataset *dataset, struct model_cost cost,
                    double min_percent);

/* "… 34 more functions with 12.3 % of the samples: …"; NULL when out of memory. */
const char *columns_left_out(struct report_dataset *dataset, const struct table *table,
                             uint64_t rows, const char *what, struct model_cost cost);

#endif
