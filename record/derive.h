/* From a recording's addresses to functions, call paths and costs: everything that is derived, and
 * can be derived again. */
#ifndef SPROF_RECORD_DERIVE_H
#define SPROF_RECORD_DERIVE_H

#include "model/model.h"
#include "record/images.h"
#include "record/jit_owner.h"
#include "store/store.h"
#include "symbolize/symbolize.h"

/* Where opened images come from. Zero: files are opened by path and build id. */
struct record_derive_source {
    const struct record_images *images; /* of the session that just ended; NULL: none */
    const struct record_jit_owners *jit_owners;
    const struct sprof_log *log;
    struct model_kind_rules rules; /* count > 0: replaces the kinds stored */
};

/* Symbolizes and derives everything in an open store. */
int record_derive_store(struct store *store, const struct record_derive_source *source,
                        struct sprof_error *error);

/* The same for imported stacks, whose functions are named already: a frame's offset is the number
 * of its name. */
int record_derive_import(struct store *store, const struct sprof_intern *names,
                         struct sprof_error *error);

/* == Shared by the files of this step == */

struct derive_module {
    struct store_module row;
    struct image *image;        /* NULL: not opened (yet) */
    struct image *owned_image;  /* to be freed here */
    struct unwind_table *table; /* built here when bounds are asked for; freed here */
    const struct unwind_table *known_table;
    uint32_t canonical;                   /* id of the first module of the same content */
    uint64_t kernel_start, kernel_offset; /* of a kernel module's mapping */
    int pid;                              /* of the process whose code it is */
    bool same_boot;
    bool bounds_tried;
};

/* A physical frame as recorded and, after naming, its chain: chains[chain … chain + chain_count),
 * function ids, innermost first. */
struct derive_frame {
    uint32_t id, module;
    uint64_t offset, lookup; /* lookup: vaddr, or address, that the symbolizer is asked about */
    size_t chain;
    uint32_t chain_count;
    uint64_t key;
};

struct derive_node {
    uint32_t id, parent, frame, path;
    uint32_t named; /* frames from here outwards whose innermost function has a name */
    uint64_t key;
};

struct derive_run {
    uint32_t id, event;
};

struct derive {
    struct store *store;
    const struct record_derive_source *source;
    struct symbolize_kernel *kernel; /* opened when a frame needs it; NULL: not yet or never */
    struct sprof_error kernel_error; /* why never */
    struct sprof_arena arena;
    bool other_boot; /* a run was recorded before the last boot */
    struct model_view view;
    SPROF_VEC(struct derive_run) runs;
    SPROF_VEC(struct derive_module) modules;                /* in order of id */
    SPROF_VEC(struct derive_frame) frames;                  /* in order of id */
    SPROF_VEC(struct derive_node) nodes;                    /* in order of id */
    struct sprof_map module_index, frame_index, node_index; /* id → position */
    SPROF_VEC(uint32_t) chains;
    SPROF_VEC(struct model_function) functions; /* [function id - 1]; modules by position + 1 */
    struct sprof_map function_index;            /* identity → id */
    struct model_paths paths;
    struct store_derived derived;
    uint32_t last_frame_id;
};

/* Reads modules, frames, nodes and runs. */
int derive_load(struct derive *derive, struct sprof_error *error);

/* Names every frame: fills functions, chains, derived.functions, derived.frames, derived.modules.
 */
int derive_names(struct derive *derive, struct sprof_error *error);

/* The same with names that are known: a frame's offset is the number of its name. */
int derive_given_names(struct derive *derive, const struct sprof_intern *names,
                       struct sprof_error *error);

/* Makes call paths and adds up costs: the rest of `derived`. */
int derive_costs(struct derive *derive, struct sprof_error *error);

#endif
