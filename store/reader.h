/* Reading a recording. */
#ifndef SPROF_STORE_READER_H
#define SPROF_STORE_READER_H

#include "store/rows.h"
#include "store/table_list.h"

struct store;
struct store_derived;

/* Opens read-only. Errors as store_open_write; a recording whose recorder lives is SPROF_ESTATE
 * with the process named. A recording that was killed opens (its log is read). Close with
 * store_close. */
int store_open_read(struct store **store, const char *path, struct sprof_error *error);

/* Copies the recording as it is at this moment, also while its recorder is at work, into a
 * temporary file without a name, which can be read and written and is gone when it is closed.
 * Errors as store_open_read, without SPROF_ESTATE. */
int store_open_copy(struct store **store, const char *path, struct sprof_error *error);

/* The path by which it was opened. */
const char *store_path(const struct store *store);

/* The run of a copy that was still being recorded; 0 where none was, and where it is no copy. */
uint32_t store_running(const struct store *store);

/* Adds to a copy of a run that goes on what was recorded since it was made or updated, all of one
 * moment. What probes measured is not brought up to date. *cleared: the samples that were there are
 * others now. Returns 1 where only a new copy will do: the run is at its end, or the file is
 * another one. */
int store_update_copy(struct store *copy, bool *cleared, struct sprof_error *error);

/* What is derived of the run of a copy that goes on: modules, functions, frames, nodes, paths, and
 * costs of paths, lines, threads and nodes are read by store_each_NAME as if they were in the
 * database, which holds the rest then; SQL does not see them. Of tables that belong to all runs the
 * first row here follows all rows of the database that are still valid. Borrowed until the copy is
 * closed or store_hold is called again; NULL: nothing is held. */
struct store_held {
    uint32_t run_id;
    const struct store_derived *derived;
    const struct store_node *nodes;
    size_t node_count;
};
int store_hold(struct store *copy, const struct store_held *held, struct sprof_error *error);

/* What is read until the end is of one moment, and the file is locked once, not for each statement.
 * Not while anything is being written through this store. Ends where it did not begin, too. */
int store_begin_reading(struct store *store, struct sprof_error *error);
void store_end_reading(struct store *store);

/* Each calls `row` for every row in order of id (samples: of time), until it returns non-zero,
 * which is then returned; else 0 or a negative code. A damaged database ends in SPROF_EFORMAT. */
int store_each_run(struct store *store, int (*row)(void *, const struct store_run *), void *context,
                   struct sprof_error *error);

/* One function for each table of store/table_list.h, called store_each_NAME. `run_id` 0 takes the
 * rows of all runs. Rows of the kernel's mappings belong to every run. */
#define STORE_X(id, name, row_type, rows)                                                          \
    int store_each_##name(struct store *store, uint32_t run_id,                                    \
                          int (*row)(void *, const struct row_type *), void *context,              \
                          struct sprof_error *error);
STORE_BATCH_OF_RUN(STORE_X)
STORE_DERIVED_OF_RUN(STORE_X)
#undef STORE_X
#define STORE_X(id, name, row_type, rows)                                                          \
    int store_each_##name(struct store *store, int (*row)(void *, const struct row_type *),        \
                          void *context, struct sprof_error *error);
STORE_BATCH_OF_ALL(STORE_X)
STORE_DERIVED_OF_ALL(STORE_X)
#undef STORE_X

/* Rows with ids in [first, last] only. */
int store_each_node_from(struct store *store, uint32_t first, uint32_t last,
                         int (*row)(void *, const struct store_node *), void *context,
                         struct sprof_error *error);
int store_each_frame_from(struct store *store, uint32_t first, uint32_t last,
                          int (*row)(void *, const struct store_frame *), void *context,
                          struct sprof_error *error);
int store_each_mapping_from(struct store *store, uint32_t first, uint32_t last,
                            int (*row)(void *, const struct store_mapping *), void *context,
                            struct sprof_error *error);

/* The call paths that have costs in a run, each event's in order of id: parents come before their
 * children, and those that several events have come several times. */
int store_each_path_of_run(struct store *store, uint32_t run_id,
                           int (*row)(void *, const struct model_path *), void *context,
                           struct sprof_error *error);

/* The functions that have costs in a run, in order of id. */
int store_each_function_of_run(struct store *store, uint32_t run_id,
                               int (*row)(void *, const struct store_function *), void *context,
                               struct sprof_error *error);

/* Whether those paths are so few among those of all runs that reading only them is less work. */
int store_has_few_paths(struct store *store, uint32_t run_id, bool *few, struct sprof_error *error);

/* Looks paths up by content. Of each of paths[0 … count), whose parents are positions + 1 in it and
 * come first, rows[i] becomes the id of its row; 0: it is not stored. The first call for a file
 * makes an index of its paths, so the store must be writable. */
int store_find_paths(struct store *store, const struct model_path *paths, size_t count,
                     uint32_t *rows, struct sprof_error *error);

/* Rows with one of some numbers: functions by their own or their modules' ids, call paths by their
 * functions'; in order of id. Numbers are for a statement of its own: hundreds, not millions of
 * them. Not of what is held (store_hold). */
int store_each_function_among(struct store *store, const uint32_t *numbers, size_t count,
                              int (*row)(void *, const struct store_function *), void *context,
                              struct sprof_error *error);
int store_each_function_of_modules(struct store *store, const uint32_t *numbers, size_t count,
                                   int (*row)(void *, const struct store_function *), void *context,
                                   struct sprof_error *error);
int store_each_path_of_functions(struct store *store, const uint32_t *numbers, size_t count,
                                 int (*row)(void *, const struct model_path *), void *context,
                                 struct sprof_error *error);

/* The smallest id of a node at which samples or calls of a run end; 0: it has none. */
int store_first_node(struct store *store, uint32_t run_id, uint32_t *node,
                     struct sprof_error *error);

/* Which samples: 0 and NULL take all. Names match exactly; a number as text matches pid or tid too.
 */
struct store_filter {
    uint32_t run_id;
    const char *thread;  /* name or tid */
    const char *process; /* name or pid */
    uint64_t from_ns,
        to_ns; /* times in [from, to); to 0: no end. Rows outside are not even read. */
};

/* Samples of a run added up by event, thread and stack node: as stored where they are
 * (store_event_cost.has_node_costs) and no range of time is asked for, else from the samples.
 * `sum_squares` is Σ weight², for the effective number. */
struct store_node_cost {
    uint32_t node_id, path_id, event_id, thread_id;
    struct model_cost cost;
    double sum_squares;
};
int store_each_node_cost(struct store *store, const struct store_filter *filter,
                         int (*row)(void *, const struct store_node_cost *), void *context,
                         struct sprof_error *error);

/* Which costs by phase and CPU are stored of a complete run's event. */
int store_has_places(struct store *store, uint32_t run_id, uint32_t event_id, bool *costs,
                     bool *blocks, struct sprof_error *error);

/* Total times of calls that probes measured, by event and function, of a run's selected threads. */
struct store_call_total {
    uint32_t event_id, function_id;
    uint64_t total_ns;
};
int store_each_call_total(struct store *store, const struct store_filter *filter,
                          int (*row)(void *, const struct store_call_total *), void *context,
                          struct sprof_error *error);

/* The nodes of functions' entries that rows about probes of a run name, in order, each once. */
struct store_probed_node {
    uint32_t node_id;
};
int store_each_probed_node(struct store *store, uint32_t run_id,
                           int (*row)(void *, const struct store_probed_node *), void *context,
                           struct sprof_error *error);

/* The samples of a run as they were written, in order of id. */
int store_each_raw_sample(struct store *store, uint32_t run_id,
                          int (*row)(void *, const struct store_sample *), void *context,
                          struct sprof_error *error);

/* The same from an id on, of all runs. */
int store_each_raw_sample_from(struct store *store, uint64_t first,
                               int (*row)(void *, const struct store_sample *), void *context,
                               struct sprof_error *error);

/* Samples in time order, run by run, with what `sprof script` shows beside them. */
struct store_sample_row {
    struct store_sample sample;
    int32_t pid, tid;
    const char *process, *thread, *event;
};
int store_each_sample(struct store *store, const struct store_filter *filter,
                      int (*row)(void *, const struct store_sample_row *), void *context,
                      struct sprof_error *error);

/* The samples of a run, or of all for 0, whose times are in one of the ranges, each once, in no
 * order. The ranges [from, to) ascend and do not overlap. */
struct store_time_range {
    uint64_t from_ns, to_ns;
};
int store_each_sample_in_ranges(struct store *store, uint32_t run_id,
                                const struct store_time_range *ranges, size_t count,
                                int (*row)(void *, const struct store_sample *), void *context,
                                struct sprof_error *error);

/* The quality of a run, as in v_quality. Fractions are left to the reader. `has_user_stacks` is
 * false in mode pc. */
struct store_quality {
    uint64_t samples, lost, user_stacks, whole_stacks, stitched, guessed_frames, frames,
        named_frames;
    bool has_user_stacks;
    double requested_hz, reached_hz;
    uint64_t own_cpu_ns, target_cpu_ns;
    uint64_t tails_dropped; /* parts of deep stacks for which there was no memory */
    bool killed;            /* the recorder, before the run ended */
};
int store_quality(struct store *store, uint32_t run_id, struct store_quality *quality,
                  struct sprof_error *error);

/* What the ledger says of one event of a run, of all its seconds; 0 where there is no ledger, as in
 * an imported run. */
struct store_event_quality {
    uint64_t seconds, samples, lost;
};
int store_event_quality(struct store *store, uint32_t event_id, struct store_event_quality *quality,
                        struct sprof_error *error);

/* Runs a user's statement on the read-only database: calls `row` with column names and texts (NULL
 * for SQL NULL) for each row. SPROF_EUSAGE with SQLite's message where the statement is wrong. */
int store_query(struct store *store, const char *sql,
                int (*row)(void *, int columns, char *const *values, char *const *names),
                void *context, struct sprof_error *error);

/* Appends a text as a literal of SQL. Returns 0 or SPROF_ENOMEM. */
int store_quote(struct sprof_str *sql, const char *text);

/* The owner of the file that was opened, also where a copy of it is read. */
uid_t store_owner(const struct store *store);

/* The recorder's process id where a live sprof records to this database; 0 where none does. */
int32_t store_live_recorder(struct store *store);

/* The same, also where it is finishing what it recorded, and is not this process. */
int32_t store_find_recorder(struct store *store);

#endif
