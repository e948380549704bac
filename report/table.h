/* A table ready to be shown. Builders (tables.c, tree.c) decide what is in it; formats only how it
 * looks. */
#ifndef SPROF_REPORT_TABLE_H
#define SPROF_REPORT_TABLE_H

#include "report/dataset.h"
#include "report/number_format.h"

#include <stdio.h>

enum table_kind {
    TABLE_COUNT,    /* a whole number: cell.part */
    TABLE_PERCENT,  /* cell.part of cell.whole */
    TABLE_INTERVAL, /* ± percentage points: cell.points */
    TABLE_TIME,     /* nanoseconds: cell.part */
    TABLE_NAME,     /* cell.text */
    TABLE_PATH,     /* cell.text, indented as the row's place in the tree says */
};

struct table_column {
    const char
        *group; /* text: above the titles, once for neighbours of the same group; may be NULL */
    const char *title; /* text; NULL with only_data */
    const char *key;   /* CSV and JSON */
    const char *base;  /* JSON: what a percentage is of; else NULL */
    enum table_kind kind;
    bool only_data; /* not in text */
    bool apart;     /* text: a wider gap before it */
};

struct table_cell {
    uint64_t part, whole;
    double points;
    const char *text;
};

enum { TABLE_COLUMNS = 16, TABLE_BARS = 16 };

/* Where a row stands in a tree. Zero for flat tables. */
struct table_place {
    uint32_t depth; /* 0 for a root */
    bool last;      /* the last of its siblings */
    uint32_t bars;  /* bit d: the ancestor of depth d has siblings below this row */
};

struct table_row {
    struct table_cell cells[TABLE_COLUMNS];
    struct table_place place;
};

/* Texts live in the dataset's arena. Zero is a valid empty table. */
struct table {
    const char *title, *note; /* left and right of the first line */
    struct table_column columns[TABLE_COLUMNS];
    size_t column_count;
    SPROF_VEC(struct table_row) rows;
    unsigned decimals; /* of percentages in text */
    uint64_t time_unit_ns;
    const char *left_out; /* a line about rows that are not shown; NULL where all are */
};

void report_table_release(struct table *table);

/* Adds a column; programmers see to it that there are not too many. */
void report_table_column(struct table *table, struct table_column column);

/* Writes the number of a cell as programs read it, with full precision; percentages from 0 to 100,
 * times in seconds. NULL for texts. */
const char *report_table_cell_number(char buffer[static NUMBER_BYTES], enum table_kind kind,
                                     const struct table_cell *cell);

struct report_function_set; /* report/function_search.h */

/* Builders. Each returns 0 or SPROF_ENOMEM. */
int report_table_of_functions(struct table *table, struct report_dataset *dataset,
                              const struct report_table_options *options);
int report_table_of_modules(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options);
int report_table_of_tree(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options);
int report_table_of_callers(struct table *table, struct report_dataset *dataset,
                            const struct report_function_set *set,
                            const struct report_table_options *options);
int report_table_of_callees(struct table *table, struct report_dataset *dataset,
                            const struct report_function_set *set,
                            const struct report_table_options *options);

/* Text without the quality below. 0 or SPROF_ENOMEM; failures to write are left in the stream's
 * error indicator. */
int report_table_write_text(FILE *out, const struct table *table, unsigned columns, bool color);

#endif
