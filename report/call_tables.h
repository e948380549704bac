/* report, inside: tables of calls that probes counted, of functions that were called, and of
 * warnings. They are read from the recording's views, without a dataset: a run that is being traced
 * has no samples yet, and one of coverage never has. */
#ifndef SPROF_REPORT_CALL_TABLES_H
#define SPROF_REPORT_CALL_TABLES_H

#include "report/table.h"

/* What a table is made for. */
struct report_calls {
    struct store *store;
    const struct report_request *request;
    struct sprof_arena *arena;
    struct table *table;
    uint32_t run;                  /* the selected one, 0: the newest */
    uint32_t traced;               /* that one, or the newest traced run; 0: none */
    uint64_t run_count, run_place; /* of all runs, and its place among them, from 1 on */
    bool for_people;               /* the format is */
    uint64_t rows;                 /* set by the builder: how many there are without a limit */
};

/* A column, and the expression that it shows. */
struct report_call_column {
    const char *title, *key;
    const char *value; /* SQL; NULL: `key` */
    enum table_kind kind;
    unsigned how; /* a COLUMN_…, or how optional it is */
};
enum {
    COLUMN_STAYS = TABLE_STAYS,
    COLUMN_PLACE = 32, /* files, with lines */
    COLUMN_NAMES = 64, /* of functions */
    COLUMN_DATA = 128
};

/* A builder. 0 or a negative code with *error filled. */
typedef int report_call_table(struct report_calls *calls, struct sprof_error *error);
report_call_table report_table_of_calls, report_table_of_outside, report_table_of_open_calls,
    report_table_of_coverage, report_table_of_warnings, report_table_of_history;

/* Makes the table and writes it. Errors as report_write. */
int report_call_table_write(FILE *out, struct store *store, const struct report_request *request,
                            report_call_table *build, struct sprof_error *error);

/* == For builders == */

/* Adds the columns, and the rows of "SELECT columns FROM `from`" whose function is selected. */
int report_calls_read(struct report_calls *calls, const struct report_call_column *columns,
                      size_t count, const struct sprof_str *from, struct sprof_error *error);

/* Puts the rows in the order that was asked for, if any. As many stay as there may be: the limit,
 * else 40 for people. Counts all of them. */
int report_calls_order(struct report_calls *calls, struct sprof_error *error);

/* Appends " AND …" for the selected module, thread and process. The names are columns of `sql`;
 * NULL where rows have none. */
struct report_call_names {
    const char *module, *tid, *thread, *pid, *process;
};
/* The name of the process of a row's `thread_id`. */
#define REPORT_PROCESS_NAME                                                                        \
    "(SELECT p.name FROM thread t JOIN process p ON p.id = t.process_id WHERE t.id = thread_id)"
void report_calls_choose(const struct report_calls *calls, const struct report_call_names *names,
                         struct sprof_str *sql);

/* The numbers in the row of a constant statement, in which `%1$u` is the run, and `%2$d` is 1 where
 * rows are of callers; NULL counts as 0. */
int report_calls_numbers(struct report_calls *calls, const char *sql, uint64_t *items, size_t count,
                         struct sprof_error *error);

/* Adds a line below the table. The text is released. */
int report_calls_note(struct report_calls *calls, struct sprof_str *text,
                      struct sprof_error *error);

/* The newest traced run where none is selected. SPROF_ENOTFOUND where there is none. */
int report_calls_find_run(struct report_calls *calls, struct sprof_error *error);

/* What the percentages of a run are of, whatever is chosen of it. */
struct report_call_bases {
    uint64_t self_ns, wall_ns; /* wall_ns 0: not shown */
    uint64_t threads;
    bool has_pauses;
};

/* The lines below figures: what percentages are of, and what the figures hold or leave out. */
int report_calls_put_notes(struct report_calls *calls, const struct report_call_bases *bases,
                           struct sprof_error *error);

/* Which run of several this is; `runs`: so many together, where none is chosen. */
int report_calls_put_run(struct report_calls *calls, uint64_t runs, struct sprof_error *error);

#endif
