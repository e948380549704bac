/* What the files that load a dataset share among themselves. */
#ifndef SPROF_REPORT_DATASET_PARTS_H
#define SPROF_REPORT_DATASET_PARTS_H

#include "report/dataset.h"

struct report_path_row {
    uint32_t parent;         /* number of the row; 0: a root */
    uint32_t function, part; /* as in struct report_frame */
    bool called, inlined;    /* some node of it is, with REPORT_INLINED */
    struct model_costs costs;
};

/* A dataset while it is read. */
struct report_loading {
    struct report_dataset *dataset;
    struct store *store;
    struct model_kind_rules rules; /* which modules are application; count 0: as recorded */
    uint32_t phase; /* what is added up by phase, but not from samples: that of the run at work */
    bool from_samples; /* what was asked for, CPU, time or phase, is only in the samples themselves
                          and in what they add up to by place */
    bool by_place;     /* … by thread, CPU and phase, which is added up */
    bool only_run;     /* functions that only other runs met are not asked for */
    bool few_paths;    /* only those of the one run that was chosen are read */
    struct report_row_numbers modules, frames;
    struct sprof_map module_contents; /* what a module's row says → its number */
    bool one_boot;                    /* all selected runs are of one boot of one machine */
    struct report_row_numbers paths;  /* of the rows */
    SPROF_VEC(struct report_path_row) rows;
    SPROF_VEC(uint32_t) node_paths; /* [node - 1]: number of the row; 0: no sample ends there */
    SPROF_VEC(bool) marked; /* [node - 1]: whether its path was looked at, as `called` says */
    double sum_of_weights, sum_of_squares;
    bool folds_idle;                       /* waits for work are left out */
    struct report_row_numbers time_events; /* all events that are time of threads */
    struct sprof_map idle;                 /* hash of row of a path, thread and event → 1 */
    uint64_t *idle_by_path;                /* [row - 1]: weight that was left out */
    struct model_cost all_idle;            /* of all threads, of the events that are read */
};

/* Chooses runs and events, reads processes and threads, and checks that those asked for exist. What
 * the selection says beyond modes and filters is in the dataset and in `loading` from then on. */
int report_dataset_select(struct report_loading *loading, const struct report_selection *selection,
                          struct sprof_error *error);

/* Chooses the event that is read, or several as one, of the runs that were chosen. SPROF_ENOTFOUND
 * where no run has it. */
int report_dataset_choose_events(struct report_loading *loading,
                                 const struct report_selection *selection,
                                 struct sprof_error *error);

/* Finds out which waits are for work, where `folds_idle` says so and all rows of paths are read:
 * from then on report_dataset_is_idle says it of a row, a thread and an event, by their numbers.
 * Costs that are left out are given to report_dataset_fold. */
int report_dataset_find_idle(struct report_loading *loading, struct sprof_error *error);
bool report_dataset_is_idle(const struct report_loading *loading, uint32_t path, uint32_t thread,
                            uint32_t event);
void report_dataset_fold(struct report_loading *loading, uint32_t path, struct model_cost cost);

/* Takes idle time out of `all`, and finds where most of it is, after all costs are read. */
void report_dataset_idle_total(struct report_loading *loading);

/* Which costs by phase and CPU are stored of all selected events of a run. */
int report_dataset_has_places(const struct report_loading *loading, uint32_t run_id, bool *costs,
                              bool *blocks, struct sprof_error *error);

/* Sets few_paths: the costs of one run among many need only its own paths. */
int report_dataset_choose_paths(struct report_loading *loading, struct sprof_error *error);

/* Adds up the quality of the chosen runs: samples and losses of the chosen event. */
int report_dataset_load_quality(struct report_loading *loading, struct sprof_error *error);

/* Reads call paths; costs, after all that they refer to. */
int report_dataset_load_paths(struct report_loading *loading, struct sprof_error *error);
int report_dataset_load_costs(struct report_loading *loading, struct sprof_error *error);

/* Of runs whose CPUs, phases or times matter: from_samples. */
int report_dataset_load_samples(struct report_loading *loading, struct sprof_error *error);

/* Reads how much of the time of calls was outside of the traced modules, and in which functions. */
int report_dataset_load_outside(struct report_loading *loading, struct sprof_error *error);

/* Appends the callees outside of the traced modules that took most time of a run, with short names:
 * "[libc.so.6] usleep 396.0 ms, …"; nothing where there are none. */
int report_outside_append(struct sprof_str *out, struct store *store, uint32_t run,
                          struct sprof_error *error);

/* Reads kept calls and their rules, where all that they refer to is there. */
int report_dataset_load_kept(struct report_dataset *dataset, struct store *store,
                             struct sprof_error *error);

/* Reads where the processes of a run belonged. */
int report_dataset_load_origins(struct report_dataset *dataset, struct store *store,
                                uint32_t run_id, struct sprof_error *error);

/* Whether costs are asked for by what events wrote with their samples. */
bool report_dataset_asks_fields(const struct report_dataset *dataset);

/* Finds the first event of the newest run that has the field; *name stays where none has. */
int report_dataset_event_of_field(struct report_loading *loading, const char **name,
                                  struct sprof_error *error);

/* Reads the values of fields, where they are asked for. SPROF_ENOTFOUND where no event that is read
 * has such a field. */
int report_dataset_load_fields(struct report_loading *loading, struct sprof_error *error);

/* Samples by their database ids and their time. */
static inline uint64_t report_dataset_sample_key(uint32_t event, uint32_t thread, uint64_t time_ns)
{
    return sprof_hash_pair((uint64_t)event << 32 | thread, time_ns);
}

/* Reads what ended waits, where all that it refers to is there; `takes` is
 * report_dataset_takes_sample. */
int report_dataset_load_wakes(struct report_dataset *dataset, struct store *store,
                              bool (*takes)(const struct report_dataset *, size_t,
                                            const struct store_sample *),
                              struct sprof_error *error);

/* Counts a cost that is selected for its path, the number of a row. */
void report_dataset_count(struct report_loading *loading, uint32_t path, struct model_cost cost,
                          double sum_squares);

/* Makes the tree that of real functions, without inlined ones, from `costs` and nodes; `next_costs`
 * is report_dataset_next_costs. 0 or a negative code. */
int report_dataset_read_real_functions(struct report_dataset *dataset,
                                       int (*next_costs)(struct report_dataset *));

/* Reads the tree as another mode where the selection demands one. */
int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error);

/* Leaves of the tree and of the costs what the selection's expressions and modules say. */
int report_dataset_filter(struct report_dataset *dataset, const struct report_selection *selection,
                          struct sprof_error *error);

/* Leaves of the costs at hand what the expressions and modules say. 0 or SPROF_ENOMEM. */
int report_dataset_filter_costs(struct report_dataset *dataset);

/* Whether lines of several parts of one function are one line in the report, so that their sums in
 * the recording may hold one stack twice. 0 or SPROF_ENOMEM. */
int report_dataset_lines_overlap(const struct report_dataset *dataset, bool *overlap);

/* Adds up `line_costs` from the costs of whole stacks, which REPORT_STACKS brings; they are there
 * as with REPORT_LINE_COSTS from then on. 0 or SPROF_ENOMEM. */
int report_dataset_add_up_lines(struct report_dataset *dataset);

/* Computes the totals of the tree. */
void report_dataset_total(struct report_dataset *dataset);

/* Puts the mappings into the order that report_dataset_address searches. */
void report_dataset_sort_mappings(struct report_dataset *dataset);

/* Which CPUs a list such as "0-3,7" names. SPROF_EUSAGE where it is none. */
enum { REPORT_CPUS_MAX = 8192 };
struct report_cpu_set {
    uint64_t bits[REPORT_CPUS_MAX / 64];
};
int report_cpu_set_parse(struct report_cpu_set *set, const char *list, struct sprof_error *error);

/* The part of a run that "A,B" names, in nanoseconds from its start, the end exclusive. Percentages
 * are of its duration, from `begin_ns` on. SPROF_EUSAGE where it is none. */
int report_time_range_parse(struct report_time_range *range, const char *text,
                            const struct store_run *run, uint64_t begin_ns,
                            struct sprof_error *error);

#endif
