/* One run of a recording in memory, as a table sees it: filtered, and read in the mode asked for.
 */
#ifndef SPROF_REPORT_PROFILE_H
#define SPROF_REPORT_PROFILE_H

#include "model/model.h"
#include "report/report.h"

struct profile_module {
    const char *name, *path; /* clean, see report/utf8_text.h */
    enum model_kind kind;
};

struct profile_function {
    const char *name, *linkage_name; /* clean; linkage_name may be NULL */
};

/* Modules and functions are numbered anew, densely from 1. Zero is a valid empty profile. */
struct profile {
    struct sprof_arena arena;
    struct store_run run;           /* texts in the arena */
    uint32_t run_number, run_count; /* "run 2 of 3" */
    struct store_event event;       /* id 0 where the run has none */
    struct store_quality quality;   /* of the whole run */
    uint64_t process_count, thread_count, module_count;
    SPROF_VEC(struct profile_module) modules;
    SPROF_VEC(struct profile_function) functions;
    SPROF_VEC(struct model_function) facts; /* of the same functions */
    struct model_paths paths;               /* summed; every path has a cost */
    struct model_cost total;
    struct model_cost not_sampled; /* the part of it that is CPU time without samples */
    struct model_cost outside;     /* … and without an application frame */
    uint32_t outside_function, not_sampled_function; /* 0: none */
    double effective_samples;
    bool weighted;        /* percentages use weight */
    enum model_mode mode; /* as read */
    bool frame_app, drop_interior, other_mode;
    const char *thread, *process; /* the filters, clean; NULL none */
};

/* Reads what the options ask for. Errors as report_write. The caller releases, also on failure. */
int profile_load(struct profile *profile, struct store *store, const struct report_options *options,
                 struct sprof_error *error);
void profile_release(struct profile *profile);

/* Reads the tree as another mode: the second half of profile_load. */
int profile_view(struct profile *profile, const struct report_options *options,
                 struct sprof_error *error);

/* Computes the totals once the tree is final. */
void profile_total(struct profile *profile);

static inline struct model_functions profile_facts(const struct profile *profile)
{
    return (struct model_functions){profile->facts.items, profile->facts.count};
}

/* What shares are computed from. */
static inline uint64_t profile_value(const struct profile *profile, struct model_cost cost)
{
    return profile->weighted ? cost.weight : cost.samples;
}

static inline const char *profile_function_name(const struct profile *profile, uint32_t function)
{
    return profile->functions.items[function - 1].name;
}

static inline const char *profile_module_name(const struct profile *profile, uint32_t function)
{
    return profile->modules.items[profile->facts.items[function - 1].module - 1].name;
}

/* Adds a function; returns its number, 0 when out of memory. Texts must live as long as the
 * profile. */
uint32_t profile_add_function(struct profile *profile, struct profile_function function,
                              struct model_function facts);

#endif
