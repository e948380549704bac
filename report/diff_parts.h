/* What the files that compare two groups of runs share among themselves. */
#ifndef SPROF_REPORT_DIFF_PARTS_H
#define SPROF_REPORT_DIFF_PARTS_H

#include "report/dataset.h"

struct diff_row {
    const char *name, *module;
    const char *place, *function; /* of lines: "dir/file.c:12", and whose it is; else NULL */
    bool unnamed;  /* functions without a name, which cannot be matched between two builds */
    bool gathered; /* all of these of a module as one row */
};

/* What a run adds up to, and what turns its weights into the unit compared. Of a fleet's rows,
 * where a run is of one service, it is all runs that an import holds of a host: one repeat. */
struct diff_run {
    double total, samples, factor;
    uint64_t begin_ns, end_ns; /* of the real-time clock; end 0: nothing was read of it yet */
};

struct diff_comparison {
    const struct report_diff *diff;
    struct sprof_arena arena;      /* texts of rows */
    struct report_dataset dataset; /* of the run at hand; in the end of the last one */
    SPROF_VEC(struct diff_row) rows;
    struct sprof_map indexes;           /* key → index + 1 */
    SPROF_VEC(struct model_cost) costs; /* row by row, a cost for each run */
    struct sprof_map speed_indexes;     /* key of a function → index + 1 */
    SPROF_VEC(struct model_cost) own;   /* exclusive costs by function: how fast runs were */
    SPROF_VEC(size_t)
    repeats; /* of the runs of both sides: of which run of its side it is a part */
    struct diff_run *runs;
    size_t counts[2], run_count; /* of each side, and of both */
    const char *event;           /* of the first run, as all that follows */
    const char *rows_event;      /* that most runs of rows have, in which all are compared */
    struct sprof_error missing;  /* what a part of a run lacked; code 0: nothing */
    bool is_clock, counts_calls;
    uint64_t least_hz, most_hz; /* asked for; 0: a period was, or it is unknown */
    enum model_mode mode;
    bool frame_app, drop_interior;
    struct sprof_map named;     /* module and name → key of the functions with it; 1: several */
    struct sprof_map builds[2]; /* key of a module's name → key of its content; 1: several */
    uint64_t renamed_met[2]; /* a bit for each of the first 64 renamings: a side has the old name */
};

/* What of the runs is compared; the order is that of enum report_diff_by. */
struct diff_kind {
    int (*add)(struct diff_comparison *comparison, size_t side, size_t run);
    unsigned parts; /* of the dataset that it needs */
    const char *title, *key, *plural;
};
extern const struct diff_kind report_diff_kinds[];

/* The column's title and key: that of the kind, or the words of the keys. */
const char *report_diff_title(struct diff_comparison *comparison);
const char *report_diff_column_key(struct diff_comparison *comparison);

struct diff_result {
    struct model_estimate *estimates;
    struct model_difference *differences;
    uint32_t *order; /* of rows that have any cost */
    size_t count;
    struct model_difference total, raw_total; /* at equal speed; as it is */
    bool has_speeds;
    struct model_speeds speeds; /* of the runs, if there are any */
    double matched;             /* share of all cost that stands in rows of both sides */
};

/* == Runs == */

/* Finds which of the stored runs are parts of one, the event to compare these in, and counts the
 * runs of each side. Returns 0, SPROF_ENOMEM, or as store_query. */
int report_diff_find_repeats(struct diff_comparison *comparison, struct sprof_error *error);

/* == Keys: what is the same == */

/* The name a module goes by on both sides. */
const char *report_diff_module_name(const struct diff_comparison *comparison, size_t side,
                                    const char *name);
uint64_t report_diff_module_key(const struct diff_comparison *comparison, size_t side,
                                const char *name);

/* How many bytes of a module's name stand for it in all its versions: "libfoo.so.1.2.3" and
 * "libfoo.so.1.3" are one library, libfoo.so.1, as its soname would say. */
size_t report_diff_module_stem(const char *name);

/* A source file is known by its last part; 0 for NULL. */
uint64_t report_diff_file_key(const char *file);

/* The identity of a function of the dataset at hand in all builds. Returns 0 or SPROF_ENOMEM. */
int report_diff_function_key(struct diff_comparison *comparison, size_t side, uint32_t number,
                             uint64_t *key, bool *unnamed);

/* Whether a function of the dataset at hand has no name. */
bool report_diff_is_unnamed(const struct diff_comparison *comparison, uint32_t number);

/* Notes which build of each module a side ran, and whether both ran the same one. */
int report_diff_note_builds(struct diff_comparison *comparison, size_t side);

/* SPROF_EUSAGE where a module was to be renamed that the side before lacks. */
int report_diff_check_renamings(const struct diff_comparison *comparison,
                                struct sprof_error *error);
bool report_diff_same_build(const struct diff_comparison *comparison, const char *module);

/* == Rows == */

/* Adds what each function of the dataset at hand costs by itself, from which speeds are estimated.
 * 0 or SPROF_ENOMEM. */
int report_diff_add_own(struct diff_comparison *comparison, size_t side, size_t run);

/* Of functions without a name, clears the rows that cannot be matched between the builds of both
 * sides: where a module was built anew its one row stays, else each function's own. */
void report_diff_choose_unnamed(struct diff_comparison *comparison);

/* == Output == */

/* Judges the result by the limits; `why` says what passed them, or why nothing can be said. */
void report_diff_judge(const struct diff_comparison *comparison, const struct diff_result *result,
                       enum report_diff_outcome *outcome, char why[static 512]);

int report_diff_write_table(FILE *out, struct diff_comparison *comparison,
                            const struct diff_result *result, const struct report_style *style,
                            struct sprof_error *error);

#endif
