/* Costs by time: what every run of a recording spent in each slot of time, by event, thread and
 * call path. The page is made from it. Bounded: slots become coarser, and small call paths are
 * folded, until the limits hold; sums stay exact. */
#ifndef SPROF_REPORT_SLOTS_H
#define SPROF_REPORT_SLOTS_H

#include "report/report.h"

/* Slots of recordings that are long, or have many samples. Those of others are finer: 10 ms up to a
 * minute or two, 1 ms up to two seconds. */
enum { REPORT_SLOT_NS = 100 * 1000 * 1000 };

/* Numbers count from 1, as in a dataset; parents of paths have smaller numbers than their children.
 */
struct report_slot_path {
    uint32_t parent;   /* 0: a root */
    uint32_t function; /* database id; 0: what was folded below `parent` */
};

/* Whose costs they are: database ids. */
struct report_lane {
    uint32_t run, event, thread;
    bool is_idle; /* a wait for work */
};

struct report_slot_cost {
    uint32_t lane; /* index in lanes */
    uint32_t slot; /* its time begins at slot · slot_ns of the run */
    uint32_t path; /* number */
    struct model_cost cost;
};

/* Zero is a valid empty value. */
struct report_slots {
    uint64_t slot_ns;
    SPROF_VEC(struct report_slot_path) paths;
    SPROF_VEC(struct report_lane) lanes;
    SPROF_VEC(struct report_slot_cost) costs; /* sorted by lane, slot, path */
    size_t folded;                            /* so many paths stand in others */
    struct model_cost folded_cost;
    struct sprof_map lane_indexes; /* (event, idleness, thread) → index + 1 */
};

/* What an event did of a thread on a path, by their database ids: the key of a set of waits for
 * work. */
static inline uint64_t report_slots_idle_key(uint32_t event, uint32_t thread, uint32_t path)
{
    return sprof_hash_pair(sprof_hash_pair(event, thread), path);
}

struct report_slots_limits {
    size_t paths, costs;          /* at the most; 0: no limit */
    const struct sprof_map *idle; /* waits for work, which have lanes of their own; NULL: none */
};

/* Reads a complete recording. Returns 0 or a negative code. The caller releases, also on failure.
 */
int report_slots_load(struct report_slots *slots, struct store *store,
                      const struct report_slots_limits *limits, struct sprof_error *error);
void report_slots_release(struct report_slots *slots);

/* For qsort: two struct report_slot_cost, in the order of report_slots.costs. */
int report_slots_compare(const void *a, const void *b);

struct report_dataset;

/* Makes parts of functions (report/split_functions.h) one path with their functions, as in the tree
 * of a dataset of the same recording. Returns 0 or SPROF_ENOMEM. */
int report_slots_join(struct report_slots *slots, const struct report_dataset *dataset);

#endif
