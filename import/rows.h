/* Rows of a fleet's database (docs/fleet.md) in memory, between reading and the recording made of
 * them. Texts are numbers in `texts`; 0 is the empty one. */
#ifndef SPROF_IMPORT_ROWS_H
#define SPROF_IMPORT_ROWS_H

#include "import/parts.h"

struct import_row_function {
    uint64_t key;
    uint32_t module, kind, name, linkage_name, file;
    uint64_t line, start, named;
};

struct import_row_path {
    uint64_t key;
    size_t first, count; /* in `chains`, root first */
};

/* Labels of processes; texts that are not known are 0. */
struct import_row_labels {
    uint64_t key;
    uint32_t map; /* all, as they came */
    uint32_t user, cgroup, container;
};

struct import_row_cost {
    uint32_t service, version, host, event, unit, state, process, thread;
    uint64_t labels_key;
    uint64_t time_s; /* when its window begins, since 1970; 0 unknown */
    uint64_t path_key, samples, weight;
    uint64_t total_ns, outermost, counted, in_flight; /* of calls: as in struct store_call_cost */
};

struct import_row_run {
    uint64_t key, time_s, duration_ns;
    uint32_t service, version, host, event, unit, mode;
    uint64_t is_clock, varying, period, samples, weight, lost, target_cpu_ns, own_cpu_ns, hz;
    double squares, chance;
};

/* Zero is valid and empty. */
struct import_rows {
    const char *name; /* of the input at hand, in messages */
    size_t line;
    SPROF_VEC(struct import_row_function) functions;
    SPROF_VEC(struct import_row_path) paths;
    SPROF_VEC(struct import_row_labels) labels;
    SPROF_VEC(struct import_row_cost) costs;
    SPROF_VEC(struct import_row_run) runs;
    SPROF_VEC(uint64_t) chains;
    struct sprof_intern texts;
    struct sprof_map function_index, path_index, labels_index; /* key → position + 1 */
};

/* What can be held. */
enum { IMPORT_CHAINS_MAX = 1 << 27, IMPORT_GROUPS_MAX = 4096 };

/* Reads an input to its end: one table or several, each behind a line of column names. Returns 0 or
 * a negative code with *error naming the line: SPROF_EFORMAT, SPROF_ELIMIT, or as
 * import_input_line.
 */
int import_rows_read(struct import_rows *rows, struct import_input *input,
                     struct sprof_error *error);

/* Takes user, cgroup and container out of the labels of a row. Returns 0 or SPROF_ENOMEM. */
int import_rows_read_labels(struct import_rows *rows, struct import_row_labels *row);

/* Whether every key that is referred to is there, each for one thing. SPROF_EFORMAT. */
int import_rows_check(struct import_rows *rows, struct sprof_error *error);

/* Counts the samples of all costs. SPROF_EFORMAT where a sum is more than a database holds. */
int import_rows_add_up(const struct import_rows *rows, uint64_t *samples,
                       struct sprof_error *error);
void import_rows_release(struct import_rows *rows);

/* Some rows of `run`, in the order of events and times. */
struct import_row_runs {
    const struct import_row_run *items;
    size_t count;
};

/* Sorts the rows of `run` for import_rows_runs. */
void import_rows_sort_runs(struct import_rows *rows);

/* Those of the service, version and host of `like`, and of its event or, with `all`, any. */
struct import_row_runs import_rows_runs(const struct import_rows *rows,
                                        const struct import_row_run *like, bool all);

/* How much the samples of an event weigh that rows of cost hold together. Zero is none. */
struct import_row_weights {
    uint64_t samples;
    double single, several; /* Σ weight² / samples of rows with one sample, with several */
};
void import_rows_weigh(struct import_row_weights *weights, const struct import_row_cost *row);

/* The weights of the samples that a row holds together vary by as much as the sums of squares of
 * the rows of `run` of their event say: Σ weight² of the costs that were weighed is so many times
 * what it would be if they were equal. At least 1. */
double import_rows_spread(struct import_row_runs runs, const struct import_row_weights *weights);

/* Adds what a row holds of calls to the row of its thread and stack; `places` are the positions of
 * these, + 1. Of calls of which it is not known how many were outermost there is no average.
 * Returns 0 or SPROF_ENOMEM. */
int import_rows_add_calls(struct store_batch *batch, struct sprof_map *places,
                          const struct import_row_cost *cost, const struct store_sample *sample,
                          uint32_t run_id);
void import_rows_settle_calls(struct store_batch *batch); /* behind the last */

/* With which chance what a run holds was recorded, by its rows of `run`: samples / chance estimates
 * those that there were. 1 where nothing else is known. */
double import_rows_chance(struct import_row_runs runs);

/* Divides a row into one or two parts, of samples that weigh the same, with these squares. */
size_t import_rows_divide(struct model_cost cost, double spread, struct model_cost parts[2]);

/* The labels of a row of cost; NULL: not known. */
static inline const struct import_row_labels *import_rows_labels(const struct import_rows *rows,
                                                                 uint64_t key)
{
    const uint64_t *position = key ? sprof_map_get(&rows->labels_index, key) : NULL;
    return position ? &rows->labels.items[*position - 1] : NULL;
}

static inline const char *import_rows_text(const struct import_rows *rows, uint32_t number)
{
    return number ? sprof_intern_text(&rows->texts, number) : "";
}

/* As import_rows, of an input that is open already. */
int import_rows_opened(const struct import_options *options, struct import_input *input,
                       struct import_result *result, struct sprof_error *error);

/* Writes a recording of all rows, a run for each service, version and host. Errors as import_file.
 */
int import_rows_build(struct import_rows *rows, const struct import_options *options,
                      struct import_result *result, struct sprof_error *error);

#endif
