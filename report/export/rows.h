/* Rows for a fleet's database: five tables whose keys are the same in all builds and on all hosts.
 * docs/fleet.md describes the tables. */
#ifndef SPROF_REPORT_EXPORT_ROWS_H
#define SPROF_REPORT_EXPORT_ROWS_H

#include "report/export/labels.h"

/* The keys of what a dataset holds, by number; index 0 is for none. */
struct report_row_keys {
    uint64_t *functions; /* [function] */
    uint64_t *paths;     /* [path] */
};

/* Makes the keys of a dataset's functions and paths. Returns 0 or SPROF_ENOMEM. The caller
 * releases, also on failure. */
int report_row_keys_make(struct report_row_keys *keys, const struct report_dataset *dataset);
void report_row_keys_release(struct report_row_keys *keys);

/* The key that a function has where its module is stripped; 0: none, or it has no name here. */
uint64_t report_row_unnamed_key(const struct report_dataset *dataset, uint32_t number);

/* The labels of a dataset's processes: those of all and user, cgroup and container of each. */
struct report_row_labels {
    struct sprof_intern maps;      /* distinct ones, as ClickHouse writes a Map */
    SPROF_VEC(uint64_t) keys;      /* [map - 1]; 0: no labels */
    SPROF_VEC(uint32_t) processes; /* [process - 1]: its map */
};

/* `without`: enum report_rows_label. Returns 0 or SPROF_ENOMEM. The caller releases, also on
 * failure. */
int report_row_labels_make(struct report_row_labels *labels, const struct report_dataset *dataset,
                           const struct export_labels *given, unsigned without);
void report_row_labels_release(struct report_row_labels *labels);

/* Appends labels as ClickHouse writes a Map: in tab-separated values, too, its texts are escaped
 * once. Returns 0 or SPROF_ENOMEM. */
int report_row_labels_write(struct sprof_str *map, const struct export_label *labels, size_t count);

/* A service in a build, and what was spent by its processes. */
struct report_row_service {
    const char *name, *version; /* borrowed from `names` of the costs, or as given for all */
    struct model_cost sum;
};

/* What was spent; the counts of calls are those of struct store_call_cost. */
struct report_row_sums {
    struct model_cost cost;
    uint64_t total_ns; /* of calls: with what they called */
    uint64_t outermost, counted, in_flight;
};

/* What was spent on a path in a window by the threads of one name. */
struct report_row_cost {
    uint32_t window;  /* its number: start of the window since 1970, in windows */
    uint32_t service; /* its position in `services` */
    uint32_t labels;  /* number of its map */
    uint32_t process; /* number of its name in `names`; 0: none */
    uint32_t thread;
    uint32_t path;
    bool outside; /* calls of a function outside of the traced modules */
    struct report_row_sums sums;
};

struct report_row_costs {
    SPROF_VEC(struct report_row_cost) items; /* in order of window, service, labels, names, path */
    SPROF_VEC(struct report_row_service) services; /* those that have a process */
    struct sprof_intern names;
};

/* Adds up what was selected of the run and event of the dataset (loaded with REPORT_STACKS) by the
 * windows of the options, and of their user. `paths` are those of report_export_paths. Where
 * `identity` has no service each process has its own, and its own version. Errors as
 * report_export. The caller releases, also on failure. */
int report_row_costs_make(struct report_row_costs *costs, const struct report_content *content,
                          const uint32_t *paths, const struct report_row_labels *labels,
                          const struct export_identity *identity,
                          const struct report_rows_options *options, struct sprof_error *error);
void report_row_costs_release(struct report_row_costs *costs);

#endif
