/* The function-level calling-context tree and THE aggregation: every exclusive and inclusive number
 * that sprof shows or stores comes from here (DESIGN §7). */
#ifndef SPROF_MODEL_PATHS_H
#define SPROF_MODEL_PATHS_H

#include "base/base.h"
#include "model/kinds.h"

#include <stdbool.h>

struct model_cost {
    uint64_t samples, weight;
};

struct model_costs {
    struct model_cost exclusive, inclusive;
};

/* What the aggregation needs of a function; indexed by function id - 1. */
struct model_function {
    uint32_t module;      /* module id */
    enum model_kind kind; /* of its module */
    bool startup;         /* never application, whatever its module */
};
struct model_functions {
    const struct model_function *items;
    size_t count;
};

/* A call path: a function below the path of its callers. Children have larger ids than parents. */
struct model_path {
    uint32_t id, parent; /* parent 0: a root */
    uint32_t function;   /* function id, > 0 */
    uint32_t depth;      /* 1 for a root */
    struct model_costs costs;
};

/* Zero is a valid empty tree. */
struct model_paths {
    SPROF_VEC(struct model_path) items; /* [id - 1] */
    struct sprof_map index;             /* (parent, function) → id */
};

void model_paths_release(struct model_paths *paths);

/* Finds or makes the path `function` below `parent` (0: at the root). Returns 0 or SPROF_ENOMEM. */
int model_paths_child(struct model_paths *paths, uint32_t parent, uint32_t function,
                      uint32_t *path);

/* The path `function` below `parent`; 0: there is none. */
uint32_t model_paths_find(const struct model_paths *paths, uint32_t parent, uint32_t function);

/* Sets all costs to zero and keeps the paths. */
void model_paths_clear_costs(struct model_paths *paths);

/* Adds exclusive cost to a path. */
void model_paths_add(struct model_paths *paths, uint32_t path, struct model_cost cost);

/* Computes every inclusive cost from the exclusive ones; callable again after more was added. */
void model_paths_sum(struct model_paths *paths);

/* Total of all exclusive costs: what percentages of "all" refer to. */
struct model_cost model_paths_total(const struct model_paths *paths);

/* The functions below do all else, on summed trees. Each returns 0 or SPROF_ENOMEM. */

/* Per function (array of functions->count, id - 1, caller allocates and zeroes): exclusive =
 * samples that end in it, inclusive = samples that hold it at least once. */
int model_function_costs(const struct model_paths *paths, const struct model_functions *functions,
                         struct model_costs *costs);

/* The same per module (array of `module_count`, id - 1). */
int model_module_costs(const struct model_paths *paths, const struct model_functions *functions,
                       struct model_costs *costs, size_t module_count);

/* The same per thing that paths stand for: things[path id - 1] from 1 to `count`, or 0 for none
 * (array of `count`, thing - 1). Several functions may be one thing: a sample counts once for it. */
int model_group_costs(const struct model_paths *paths, const uint32_t *things, size_t count,
                      struct model_costs *costs);

/* The same per source line, of a tree whose `function` is a number from 1 to `count` for each file,
 * line and function: paths are stacks with their inlined levels. */
int model_line_costs(const struct model_paths *lines, size_t count, struct model_costs *costs);

/* Per pair of caller and callee: samples that hold the call at least once. */
struct model_edge {
    uint32_t caller, callee;
    struct model_cost cost;      /* of all samples that hold the call */
    struct model_cost innermost; /* of those whose innermost call it is */
};
struct model_edges {
    SPROF_VEC(struct model_edge) items; /* sorted by caller, callee */
};
int model_edge_costs(const struct model_paths *paths, struct model_edges *edges);
void model_edges_release(struct model_edges *edges);

/* Everything below the outermost occurrences of `function`, merged: a summed tree whose root is
 * that function (empty where no sample holds it). */
int model_paths_callees(const struct model_paths *paths, uint32_t function,
                        struct model_paths *callees);

/* The ways into the outermost occurrences of `function`: a summed tree of the paths from the roots
 * that end in it; the exclusive cost of such an end is the inclusive cost of the occurrence. */
int model_paths_callers(const struct model_paths *paths, uint32_t function,
                        struct model_paths *callers);

/* == Modes (DESIGN §2) == */

struct model_view {
    enum model_mode mode;
    bool frame_app;       /* with MODEL_MODE_PC: the innermost application frame */
    bool drop_interior;   /* with MODEL_MODE_APP: system frames between application frames go too */
    uint32_t outside;     /* id of the function "[outside the application]" */
    uint32_t not_sampled; /* id of "[not sampled]", which stays itself in every mode; 0: none */
};

/* The view of words as recordings keep them: "full", "app", "pc"; "app" or NULL; "drop" or other.
 */
struct model_view model_view_of(const char *mode, const char *frame, const char *app_interior);

/* How much of a stack a view leaves out, in steps: 0 nothing; more is more, and of equals the same.
 */
unsigned model_view_lost(const struct model_view *view);

/* Whether samples taken in a view can be read in another: all that it needs was kept. */
bool model_view_can_be_read(const struct model_view *taken, const struct model_view *as);

/* Which part of a stack a mode keeps. `is_app` holds a flag for each frame, root first. Keeps
 * frames [*first, *last]; returns false where there is no application frame (then the sample
 * belongs on "[outside the application]"). MODEL_MODE_FULL keeps all; a count of 0: false. */
bool model_view_cut(const struct model_view *view, const bool *is_app, size_t count, size_t *first,
                    size_t *last);

/* Whether a function counts as application code. */
bool model_function_is_app(const struct model_functions *functions, uint32_t function);

/* The tree that a recording in that mode would have given. Summed. */
int model_paths_view(const struct model_paths *full, const struct model_functions *functions,
                     const struct model_view *view, struct model_paths *out);

/* == Uncertainty == */

/* The 95 % Wilson score interval (E. B. Wilson, 1927) of a share, as fractions of 1. `part` and
 * `whole` are weights; `samples` is the effective number of samples behind `whole` (for equal
 * weights their count). samples 0 gives [0, 1]. */
struct model_interval {
    double low, high;
};
struct model_interval model_share_interval(uint64_t part, uint64_t whole, double samples);

/* Kish's effective number of samples: (Σw)² / Σw². */
double model_effective_samples(double sum_of_weights, double sum_of_squares);

#endif
