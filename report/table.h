/* A table ready to be shown. Builders (by_key.c, tree.c, edges.c) decide what is in it; formats
 * only how it looks. */
#ifndef SPROF_REPORT_TABLE_H
#define SPROF_REPORT_TABLE_H

#include "report/dataset.h"
#include "report/number_format.h"

enum table_kind {
    TABLE_COUNT,    /* a whole number: cell.count */
    TABLE_PERCENT,  /* cell.count of the column's `whole` */
    TABLE_INTERVAL, /* ± percentage points: cell.points */
    TABLE_TIME,     /* nanoseconds: cell.count */
    TABLE_LENGTH,   /* the same of very different sizes, each in a unit of its own */
    TABLE_MOMENT,   /* the same, since the start of the run */
    TABLE_NS,       /* as a length; programs read nanoseconds */
    TABLE_ADDRESS,  /* hexadecimal: cell.count */
    TABLE_NUMBER,   /* cell.text: a number as it was given; NULL: not known */
    TABLE_NAME,     /* cell.text; NULL: not known */
    TABLE_PATH,     /* cell.text, indented as the row's place in the tree says */
    TABLE_CODE,     /* cell.text, cut at its end */
};

/* Text: what goes first where the page is too narrow is more optional. Details go for a name's
 * columns behind its branch, what is second only for its columns with the branch. */
enum { TABLE_STAYS, TABLE_SECOND, TABLE_DETAIL = 4 };

struct table_column {
    const char *group; /* text: above the titles, once for neighbours of one group; may be NULL */
    const char *title; /* text; NULL with only_data */
    const char *key;   /* CSV and JSON */
    const char *base;  /* JSON: what a percentage is of; else NULL */
    enum table_kind kind;
    bool only_data;    /* not in text */
    bool apart;        /* text: a wider gap before it */
    bool subject;      /* text: rows are about this name as much as about the first text */
    bool cut_at_end;   /* a way, whose first function says most */
    bool place;        /* a file, of which the end says most */
    bool functions;    /* names of functions, or ways through them: see report_table_shorten */
    unsigned optional; /* TABLE_STAYS, or the more the sooner it goes */
    uint64_t whole;    /* what its percentages are of */
    unsigned decimals; /* text: of its percentages */
    const char *about; /* below the table, where people see the column; NULL nothing */
};

union table_cell {
    uint64_t count;
    double points;
    const char *text;
};

/* A count that is not known. Rows without the number that is sorted by come last. */
#define TABLE_UNKNOWN UINT64_MAX

enum { TABLE_COLUMNS = 40, TABLE_BARS = 16 };

/* Where a row stands in a tree. */
struct table_place {
    uint32_t depth;   /* 0 for a root */
    uint32_t path;    /* its id in the tree that was shown */
    bool last;        /* the last of its siblings */
    uint32_t bars;    /* bit d: the ancestor of depth d has siblings below this row */
    bool folded;      /* it stands for several frames, and its text is no name */
    const char *mark; /* for people: what is said behind the name; NULL nothing */
};

/* Texts live in the dataset's arena. Zero is a valid empty table. Cells lie row after row. */
struct table {
    const char *title, *note; /* left and right of the first line */
    struct table_column columns[TABLE_COLUMNS];
    size_t column_count;
    uint8_t shown[TABLE_COLUMNS]; /* columns in the order they are shown in */
    size_t shown_count;
    SPROF_VEC(union table_cell) cells;
    SPROF_VEC(struct table_place) places; /* of each row of a tree; else empty */
    SPROF_VEC(const char *) notes;        /* lines below it */
    bool blank_zeros;                     /* text: costs of nothing are left empty */
    bool ordered;                         /* equal rows stay as they were made, not by name */
    bool hides_titles;                    /* text: without rows there are no titles, either */
    bool failed;                          /* memory ran out while cells were added */
    unsigned decimals;                    /* of intervals in text */
    uint64_t time_unit_ns;
    const char *left_out; /* a line about rows that are not shown; NULL where all are */
};

void report_table_release(struct table *table);

/* Adds a column, shown behind the others; programmers see to it that there are not too many. */
void report_table_column(struct table *table, struct table_column column);

static inline size_t report_table_rows(const struct table *table)
{
    return table->column_count ? table->cells.count / table->column_count : 0;
}

static inline const union table_cell *report_table_cell(const struct table *table, size_t row,
                                                        size_t column)
{
    return &table->cells.items[row * table->column_count + column];
}

/* Appends what is to be said below about the columns that people see; `dropped` are those, in their
 * order, that found no room, NULL none. 0 or SPROF_ENOMEM. */
int report_table_append_about(const struct table *table, const bool *dropped,
                              struct sprof_str *out);

/* Add the next cell of the row that is being made. */
static inline void report_table_put(struct table *table, union table_cell cell)
{
    if (sprof_vec_push(&table->cells, cell))
        table->failed = true;
}
static inline void report_table_put_count(struct table *table, uint64_t count)
{
    report_table_put(table, (union table_cell){.count = count});
}
static inline void report_table_put_text(struct table *table, const char *text)
{
    report_table_put(table, (union table_cell){.text = text});
}

/* Writes the number of a cell as programs read it, with full precision; percentages from 0 to 100,
 * times in seconds; "" for what is not known. NULL for texts. */
const char *report_table_number(char buffer[static NUMBER_BYTES], const struct table_column *column,
                                const union table_cell *cell);

/* The column of a key, or else of a title, as `--sort` and `--show` name it. SPROF_EUSAGE lists
 * those there are. */
int report_table_find_column(const struct table *table, const char *name, size_t length,
                             size_t *column, struct sprof_error *error);

/* Shows the columns of a list "samples,function" only, in that order; NULL: as the builder made
 * them. */
int report_table_show(struct table *table, const char *list, struct sprof_error *error);

static inline bool report_column_is_text(const struct table_column *column)
{
    return column->kind == TABLE_NAME || column->kind == TABLE_PATH || column->kind == TABLE_CODE;
}

static inline bool report_cell_is_unknown(const struct table_column *column,
                                          const union table_cell *cell)
{
    return report_column_is_text(column) || column->kind == TABLE_NUMBER
               ? !cell->text
               : cell->count == TABLE_UNKNOWN;
}

/* The column that "COLUMN[:asc|:desc]" names, and whether small values come first; NULL: the first
 * share (where there is none the first number, or the first column), the largest first. */
int report_table_sort_column(const struct table *table, const char *sort, size_t *column,
                             bool *ascending, struct sprof_error *error);

/* The order of the rows as such a text says, in an array that the caller frees. Equal rows are in
 * the order of their names. */
int report_table_sort(const struct table *table, const char *sort, uint32_t **order,
                      struct sprof_error *error);

/* Replaces the names of functions by short ones, as people read them: no two rows with different
 * names look the same. Texts come into the arena. 0 or SPROF_ENOMEM. */
int report_table_shorten(struct table *table, struct sprof_arena *arena);

/* Keeps `count` rows, in this order. 0 or SPROF_ENOMEM. */
int report_table_take(struct table *table, const uint32_t *rows, size_t count);

/* The parts of the dataset that a flat table of these keys needs; that the tree needs. */
unsigned report_keys_parts(const struct report_table_options *options,
                           const struct report_selection *selection);
unsigned report_tree_parts(const struct report_table_options *options,
                           const struct report_selection *selection);
unsigned report_tree_by_parts(const struct report_table_options *options,
                              const struct report_selection *selection);

/* Writes a table of rows that no recording holds, or not as samples: with the columns of
 * `show`, and for people short names. The arena takes texts. Errors as report_write. */
int report_table_write(FILE *out, struct table *table, struct sprof_arena *arena, const char *show,
                       const struct report_style *style, struct sprof_error *error);

/* Builders: each has its line in report/report.c. Each returns 0 or a negative code with *error
 * filled. */
int report_table_by_keys(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error);
int report_table_of_edges(struct table *table, struct report_dataset *dataset,
                          const struct report_table_options *options, struct sprof_error *error);
int report_table_of_tree(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error);
int report_table_of_tree_by(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error);
int report_table_bottom_up(struct table *table, struct report_dataset *dataset,
                           const struct report_table_options *options, struct sprof_error *error);
int report_table_of_callers(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error);
int report_table_of_peek(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error);
int report_table_of_callees(struct table *table, struct report_dataset *dataset,
                            const struct report_table_options *options, struct sprof_error *error);

/* Text without the quality below. 0 or SPROF_ENOMEM; failures to write are left in the stream's
 * error indicator. */
int report_table_write_text(FILE *out, const struct table *table, unsigned columns, bool color);

#endif
