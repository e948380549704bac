/* Writing a recording. */
#ifndef SPROF_STORE_WRITER_H
#define SPROF_STORE_WRITER_H

#include "store/rows.h"

/* One open database. Used by one thread at a time. */
struct store;

/* Creates a new recording: 0600, O_EXCL, WAL (a rollback journal where WAL cannot work). An existing
 * recording at `path` is checkpointed and renamed to `path.old` (an older .old is replaced); a file
 * that is not a recording is refused (SPROF_EFORMAT), as is one that is being recorded to by a live
 * sprof (SPROF_ESTATE). Errors name the cure: missing directory, no permission, no space. The caller
 * frees with store_close. */
int store_create(struct store **store, const char *path, struct sprof_error *error);

/* Opens an existing recording for writing: to append a run, or to finish one. SPROF_ENOTFOUND,
 * SPROF_EFORMAT (not a recording, damaged), SPROF_EUNSUPPORTED (of a newer schema: the message says
 * which sprof is needed), SPROF_ESTATE (a live sprof records to it; see store_live_recorder). */
int store_open_write(struct store **store, const char *path, struct sprof_error *error);

/* Folds the log back, sets journal_mode=DELETE and closes: one file remains. NULL is fine. On failure
 * the database is closed all the same and stays readable. */
int store_close(struct store *store, struct sprof_error *error);

/* The largest ids in use, so that an appended run goes on after them. */
struct store_ids {
    uint32_t run, event, process, thread, module, mapping, frame, node, function, path;
    uint64_t sample;
};
int store_last_ids(struct store *store, struct store_ids *ids, struct sprof_error *error);

/* Rows to be written in one transaction. Texts in them must live until the write returns. A row whose
 * id exists replaces it (processes, threads, modules, mappings, frames, nodes: the recorder writes them
 * again as they change). Zero is a valid empty batch. */
struct store_batch {
    const struct store_run *run;     /* NULL: unchanged */
    const struct store_event *event; /* NULL: unchanged */
    SPROF_VEC(struct store_process) processes;
    SPROF_VEC(struct store_thread) threads;
    SPROF_VEC(struct store_module) modules;
    SPROF_VEC(struct store_mapping) mappings;
    SPROF_VEC(struct store_frame) frames;
    SPROF_VEC(struct store_node) nodes;
    SPROF_VEC(struct store_sample) samples;
    SPROF_VEC(struct store_ledger) ledger;
    SPROF_VEC(struct store_counter) counters;
    SPROF_VEC(struct store_failed) failed;
};
int store_write(struct store *store, const struct store_batch *batch, struct sprof_error *error);
void store_batch_clear(struct store_batch *batch);
void store_batch_release(struct store_batch *batch);

/* What is derived after recording, for some of the runs. */
struct store_path_cost {
    uint32_t run_id, event_id, id; /* id of a path, function or module */
    struct model_costs costs;
};
struct store_edge_cost {
    uint32_t run_id, event_id;
    struct model_edge edge;
};
struct store_derived {
    SPROF_VEC(uint32_t) runs;  /* their costs are replaced, and they are complete then */
    bool replaces_paths;       /* of all runs: call paths and unused functions go, too */
    SPROF_VEC(uint32_t) forgotten_frames; /* inlined ones that are not there any more */
    SPROF_VEC(struct store_function) functions; /* new and changed ones, as all below */
    SPROF_VEC(struct store_frame) frames;       /* physical ones, completed, and inlined ones */
    SPROF_VEC(struct store_module) modules;     /* key, build id, problem completed */
    SPROF_VEC(struct store_node) nodes;      /* only id, key, named and path_id are used */
    SPROF_VEC(struct model_path) paths;      /* only id, parent, function, depth are used */
    SPROF_VEC(struct store_path_cost) path_costs, function_costs, module_costs;
    SPROF_VEC(struct store_edge_cost) edge_costs;
};
/* One transaction. */
int store_write_derived(struct store *store, const struct store_derived *derived,
                        struct sprof_error *error);
void store_derived_release(struct store_derived *derived);

/* Changes the state of a run (and nothing else). */
int store_set_state(struct store *store, uint32_t run_id, enum store_state state,
                    struct sprof_error *error);

#endif
