/* From a recording's addresses to functions, call paths and costs: everything that is derived, and
 * can be derived again. What has a name keeps it: only frames without one are looked up, and only
 * runs that are not complete get paths and costs, unless more is wanted. */
#ifndef SPROF_RECORDING_DERIVE_H
#define SPROF_RECORDING_DERIVE_H

#include "model/model.h"
#include "recording/early_names.h"
#include "recording/images.h"
#include "recording/jit_owner.h"
#include "recording/kernel_opening.h"
#include "recording/recording.h"
#include "recording/sessions.h"
#include "store/store.h"
#include "symbolize/symbolize.h"

/* Where opened images come from. Zero: files are opened by path and build id. */
struct recording_derive_source {
    const struct recording_images *images; /* of the session that just ended; NULL: none */
    const struct recording_jit_owners *jit_owners;
    uint64_t start_ns;             /* of the run that just ended, CLOCK_MONOTONIC; 0: none did */
    struct recording_early *early; /* what was prepared meanwhile, or NULL */
    struct recording_namer *namer; /* opens and keeps sessions; NULL: they end with this step */
    struct recording_kernel_opening *kernel; /* the kernel's symbols, being opened; NULL: not yet */
    const struct sprof_log *log;
    struct model_kind_rules rules; /* count > 0: replaces the kinds stored */
    struct cache *cache;           /* borrowed; NULL: none */
    const char *root;              /* see struct recording_derive_options */
    bool again;                    /* names are looked up anew, of all runs but imported ones */
    bool unnamed;                  /* of complete runs, too, what has no name is looked up */
};

/* Symbolizes and derives what an open store lacks; its runs are complete then. */
int recording_derive_store(struct store *store, const struct recording_derive_source *source,
                           struct sprof_error *error);

/* The same for imported stacks, whose functions are named already: see struct recording_names. */
int recording_derive_import(struct store *store, const struct recording_names *names,
                            struct sprof_error *error);

/* == Shared by the files of this step == */

struct derive_module {
    struct store_module row;
    struct image *image;        /* NULL: not opened (yet) */
    struct image *owned_image;  /* to be freed here */
    struct unwind_table *table; /* built here when bounds are needed; freed here */
    const struct unwind_table *known_table;
    struct cache *cache;                  /* borrowed */
    uint32_t canonical;                   /* id of the first module of the same content */
    uint64_t kernel_start, kernel_offset; /* of a kernel module's mapping */
    int pid;                              /* of the process whose code it is */
    bool other_boot;                      /* a run before the last boot has it in its stacks */
    bool bounds_tried;
    bool changed; /* the row is to be written */
};

/* One level of an inline chain. */
struct derive_level {
    uint32_t function;
    const char *file;
    uint32_t line;
    uint32_t frame; /* id of the row that holds it; 0: not stored */
};

/* A physical frame as recorded and, once named, its chain: levels[chain … chain + chain_count),
 * innermost first. */
struct derive_frame {
    uint32_t id, module;
    uint64_t offset, lookup; /* lookup: vaddr, or address, for the symbolizer */
    size_t chain;
    uint32_t chain_count;
    uint64_t key; /* 0: module and offset say which it is */
    bool wanted;  /* to be looked up */
    bool asked;   /* it was */
    bool renamed; /* … and has other functions than before */
};

struct derive_node {
    uint32_t id, parent, frame, path; /* parent: position + 1; path: id in `paths` */
    uint32_t named; /* frames from here outwards whose innermost function has a name */
    uint32_t depth, guessed;
    uint32_t run; /* number of the run at hand whose samples stand on it; 0: none */
    bool has_row; /* of its path: samples of runs at hand end in it, or rows about probes name it */
    /* Of a run of several modes: */
    uint32_t phase;   /* the number of the phase that its samples are of, the most detailed */
    uint32_t reading; /* its path where the whole run is read in one mode */
    bool in_full;     /* stacks of mode full pass through it */
};

enum { DERIVE_BUCKETS = 64 }; /* of durations of calls, at most */

struct derive_slot {
    uint32_t slot, pair; /* pair: position in `pairs` */
    struct model_cost cost;
};

/* A CPU while a phase lasted. */
struct derive_place {
    uint32_t phase; /* as in struct store_place_cost */
    int32_t cpu;
};

struct derive_place_cost {
    uint32_t place, of; /* place: position in `places`; of: position in `pairs` or `threads` */
    struct model_cost cost;
};

struct derive_place_sums {
    SPROF_VEC(struct derive_place_cost) items;
    struct sprof_map index; /* place and `of` → position */
};

/* The same by place: see struct store_place_cost and struct store_place_block. */
struct derive_places {
    SPROF_VEC(struct derive_place) items;
    struct sprof_map index; /* → position */
    struct derive_place_sums threads, pairs;
    SPROF_VEC(double) squares; /* of each of `threads` */
    bool too_many;             /* pairs: they were given up */
};

/* What the samples of one event add up to. */
struct derive_event {
    uint32_t id;
    struct model_cost cost;
    double squares;
    uint64_t slot_ns;
    SPROF_VEC(struct store_thread_node_cost) pairs; /* of thread and node */
    SPROF_VEC(struct store_thread_cost) threads;
    SPROF_VEC(struct derive_slot) slots;
    SPROF_VEC(uint32_t) last_slots; /* of each of `pairs`: position + 1 in `slots` */
    struct derive_places places;
    struct sprof_map pair_index, thread_index; /* → position */
};

struct derive_phase {
    uint64_t start_ns; /* from the beginning of the run */
    struct model_view view;
};

/* When a phase was. */
struct derive_stretch {
    uint64_t start_ns, end_ns;
};

/* What was called of one function, by the node of its entry. */
struct derive_calls {
    uint32_t event, node;
    uint64_t total_ns, max_ns;
    double bucket_ns;
    uint64_t buckets[DERIVE_BUCKETS];
    bool has_gaps; /* some calls that were timed are in no bucket */
};

/* A process that may have code made at run time. */
struct derive_process {
    uint32_t parent; /* its id; 0: none */
    int pid;
    uint64_t start_ns; /* from the beginning of the run */
    bool is_heir;      /* of its parent's code, by a fork: it has executed no program of its own */
};

struct derive_run {
    uint32_t id;
    bool same_boot, complete;
    bool kept;              /* what is derived of it is right: see recording_derive_keep_runs */
    struct model_view view; /* the least detailed of its phases */
    SPROF_VEC(struct derive_phase) phases;      /* in order; empty where all are of that one mode */
    SPROF_VEC(struct derive_stretch) stretches; /* of all phases, in order */
    struct store_sample_summary summary;
    uint64_t latest_ns, disorder_ns; /* of the samples so far */
    SPROF_VEC(struct derive_event) events;
    SPROF_VEC(struct derive_calls) calls; /* not empty: probes measured it, no samples */
};

struct derive {
    struct store *store;
    const struct recording_derive_source *source;
    bool all;         /* every run is derived: what was derived is replaced as a whole */
    bool import;      /* imported runs too */
    bool nothing_new; /* of what was looked up again: all sums stay as they are */
    bool live;        /* it is derived again and again as its run goes on: see recording/live.c */
    bool lines;       /* … and costs of lines are needed, too */
    bool some_functions; /* those of frames and modules that need them are read, not all */
    bool repath; /* … and frames have other functions or stacks another mode than before: no
                    path is valid */
    struct {
        uint32_t frame, node, mapping;
        uint32_t program; /* mapping of one; these are read where code made at run time is */
        uint64_t sample;
    } read;                           /* the largest ids that were read */
    struct recording_closing closing; /* sessions of modules that have their names */
    struct symbolize_kernel *kernel;  /* opened when a frame needs it; NULL: not yet or never */
    struct sprof_error kernel_error;  /* why never */
    struct sprof_arena arena;
    uint32_t outside;                           /* the function "[outside the application]" */
    SPROF_VEC(struct derive_run) runs;          /* those to be derived */
    SPROF_VEC(struct derive_module) modules;    /* in order of id */
    SPROF_VEC(struct derive_frame) frames;      /* in order of id */
    SPROF_VEC(struct derive_node) nodes;        /* in order of id */
    struct sprof_map module_index, frame_index; /* id → position */
    SPROF_VEC(struct derive_process) processes; /* of the runs at hand, where some have such code */
    struct sprof_map process_index;             /* id → position */
    SPROF_VEC(struct derive_level) levels;
    SPROF_VEC(struct model_function) functions;     /* [function id - 1]; modules by position + 1 */
    SPROF_VEC(struct store_function) function_rows; /* of the same */
    SPROF_VEC(bool) function_changed;               /* … and which are to be written */
    struct sprof_map function_index;                /* identity → id */
    struct sprof_map older; /* frame id → how many pieces of code were loaded there since its own */
    struct model_paths paths;      /* of the runs at hand */
    SPROF_VEC(uint32_t) path_rows; /* [path id - 1]: the id of its row */
    struct store_derived derived;
    struct store_ids last;  /* the largest ids before anything is derived … */
    uint32_t last_frame_id; /* … and now */
};

/* Reads runs, modules and functions, of frames and nodes those of the runs to be derived, and adds
 * up the runs' samples. */
int recording_derive_load(struct derive *derive, struct sprof_error *error);

/* Reads what was added since, of the one run at hand. */
int recording_derive_load_more(struct derive *derive, struct sprof_error *error);

/* Where functions are read as they are needed (derive->some_functions): reads those of modules, by
 * position in derive->modules; what is there already stays. */
int recording_derive_load_functions_of(struct derive *derive, const bool *is_wanted,
                                       struct sprof_error *error);

/* Reads whose the modules of code made at run time are. */
int recording_derive_load_owners(struct derive *derive, struct sprof_error *error);

/* Opens the jitdump or the perf map of a process whose code a module is, joined with what processes
 * that forked it had until then. Errors as symbolize_jit_open. `why` is required; it also says why
 * the process has no file of its own where one that forked it has. */
int recording_derive_open_jit(const struct derive *derive, const struct derive_module *module,
                              struct symbolize_jit **jit, struct sprof_error *why);

/* Of runs that have just ended: gives samples of code made at run time that was replaced at its
 * address since a frame of that code (derive->older), and nodes. Where *changed, what was loaded
 * is not valid any more. */
int recording_derive_split_jit(struct derive *derive, bool *changed, struct sprof_error *error);

/* derive_nodes.c: the module with an id; NULL: there is none. */
struct derive_module *recording_derive_module(const struct derive *derive, uint32_t id);

/* The position of a node + 1; 0: there is none. */
size_t recording_derive_find_node(const struct derive *derive, uint32_t id);

/* Marks a node (by its position + 1) and its callers as a run's, and whose frames the kernel's are.
 */
void recording_derive_reach(struct derive *derive, const struct derive_run *run, size_t at);

/* Adds up the samples of a run: fills its events and summary and the rows that need no names. */
int recording_derive_scan_samples(struct derive *derive, struct derive_run *run,
                                  struct sprof_error *error);
void recording_derive_events_release(struct derive_run *run);

/* The same for samples that were added since, without rows. */
int recording_derive_scan_more(struct derive *derive, struct derive_run *run,
                               struct sprof_error *error);

/* Adds a sample of a pair and a thread (positions) to what its event has on its CPU in its phase.
 * Returns 0 or SPROF_ENOMEM. */
int recording_derive_add_to_place(const struct derive_run *run, struct derive_event *event,
                                  const struct store_sample *sample, uint32_t thread,
                                  uint32_t pair);

/* The rows of it, as far as they are few enough. The same. */
int recording_derive_place_rows(struct derive *derive, const struct derive_run *run,
                                const struct derive_event *event);
void recording_derive_places_release(struct derive_places *places);

/* `squares`, or 0 where the samples of a cost weigh the same. */
double recording_derive_squares(struct model_cost cost, double squares);

/* A row without squares where its samples weigh the same. */
struct store_thread_node_cost recording_derive_pair_row(const struct store_thread_node_cost *pair);

/* The function whose entry a node is: of the chain of inlined ones the outermost. 0: none. */
uint32_t recording_derive_entry_function(const struct derive *derive, uint32_t node);

/* The same for the functions that it looked for, and those whose probes did less or more. */
int recording_derive_reach_coverage(struct derive *derive, const struct derive_run *run,
                                    struct sprof_error *error);

/* The rows of which functions were called. */
int recording_derive_coverage(struct derive *derive, const struct derive_run *run,
                              struct sprof_error *error);

/* Adds up the calls of a run by node. */
int recording_derive_load_calls(struct derive *derive, struct derive_run *run,
                                struct sprof_error *error);

/* Where calls were measured, what is inclusive is a measured time, too, which no addition of self
 * times gives. Adds to `totals`, by function id. */
void recording_derive_call_totals(const struct derive *derive, const struct derive_run *run,
                                  uint32_t event, uint64_t *totals);

/* The rows of how long calls took. */
int recording_derive_call_latencies(struct derive *derive, const struct derive_run *run);

/* Names the frames that need it: fills functions, levels, derived.frames. */
int recording_derive_names(struct derive *derive, struct sprof_error *error);

/* The same with names that are known. */
int recording_derive_given_names(struct derive *derive, const struct recording_names *names,
                                 struct sprof_error *error);

/* Names the locks that threads of the runs at hand waited for, where they are global or static. */
int recording_derive_locks(struct derive *derive, struct sprof_error *error);

/* Where only what had no name was looked up: runs that none of the new names is in keep their sums.
 * Returns 0 or SPROF_ENOMEM. */
int recording_derive_keep_runs(struct derive *derive);

/* Makes call paths and adds up costs, of runs that are not kept. */
int recording_derive_costs(struct derive *derive, struct sprof_error *error);

/* The rows of what was loaded and has changed, into `derived`. */
int recording_derive_changed_rows(struct derive *derive);

void recording_derive_release(struct derive *derive);

#endif
