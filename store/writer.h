/* Writing a recording. */
#ifndef SPROF_STORE_WRITER_H
#define SPROF_STORE_WRITER_H

#include "store/former.h"
#include "store/rows.h"
#include "store/table_list.h"

/* One open database. Used by one thread at a time. */
struct store;

/* Creates a new recording: 0600, O_EXCL, WAL (a rollback journal where WAL cannot work). An
 * existing recording at `path` is checkpointed and becomes `path`.old.1 (store/former.h); a file
 * that is not a recording is refused (SPROF_EFORMAT), as is one that is being recorded to by a live
 * sprof (SPROF_ESTATE). Errors name the cure: missing directory, no permission, no space. The
 * caller frees with store_close. */
int store_create(struct store **store, const char *path, struct sprof_error *error);

/* The same, and until store_former_settle_at it can be undone, by store_former_undo_at. */
int store_replace(struct store **store, const char *path, struct store_former *former,
                  struct sprof_error *error);

/* Opens an existing recording for writing: to append a run, or to finish one. SPROF_ENOTFOUND,
 * SPROF_EFORMAT (not a recording, damaged), SPROF_EUNSUPPORTED (of a newer schema: the message says
 * which sprof is needed), SPROF_ESTATE (a live sprof records to it; see store_live_recorder). */
int store_open_write(struct store **store, const char *path, struct sprof_error *error);

/* Folds the log back and sets journal_mode=DELETE: one file remains. From then on the database can
 * only be read, also after a failure. Not for one that was opened for reading. */
int store_finish(struct store *store, struct sprof_error *error);

/* Finishes, where that has not been done, and closes. NULL is fine. On failure the database is
 * closed all the same and stays readable. */
int store_close(struct store *store, struct sprof_error *error);

/* The largest ids in use, so that an appended run goes on after them. */
struct store_ids {
    uint32_t run, event, phase, process, thread, module, mapping, frame, node, function, path;
    uint64_t sample;
};
int store_last_ids(struct store *store, struct store_ids *ids, struct sprof_error *error);

#define STORE_X(id, name, row, rows) SPROF_VEC(struct row) rows;

/* Rows to be written in one transaction. Texts in them must live until the write returns. A row
 * whose id exists replaces it (all but samples: the recorder writes them again as they change).
 * Zero is a valid empty batch. The vectors are those of store/table_list.h. Samples of one run are
 * written one after the other, in about the order of their times, and runs in order of their ids:
 * ranges of time are found by that. */
struct store_cleared {
    uint32_t run_id;
    uint64_t before_ns;
};
struct store_batch {
    const struct store_run *run; /* NULL: unchanged */
    SPROF_VEC(struct store_cleared)
    cleared; /* before all else: samples and phases that began before
                go */
    STORE_BATCH_OF_RUN(STORE_X)
    STORE_BATCH_OF_ALL(STORE_X)
    SPROF_VEC(struct store_sample) samples;
};
int store_write(struct store *store, const struct store_batch *batch, struct sprof_error *error);

/* Takes out a run that has begun, and of which nothing was measured or derived yet. */
int store_remove_run(struct store *store, uint32_t run_id, struct sprof_error *error);

void store_batch_clear(struct store_batch *batch);
void store_batch_release(struct store_batch *batch);

/* What is derived after recording, for some of the runs. */
struct store_derived {
    SPROF_VEC(uint32_t) runs;             /* their costs are replaced, and they are complete then */
    bool replaces_paths;                  /* of all runs: call paths and unused functions go, too */
    bool leaves_paths;                    /* of some: those that no run has any more go */
    SPROF_VEC(uint32_t) forgotten_frames; /* inlined ones that are not there any more */
    SPROF_VEC(struct store_module) modules; /* with key, build id, problem */
    SPROF_VEC(struct store_frame) frames;   /* physical ones, completed, and inlined ones */
    STORE_DERIVED_OF_ALL(STORE_X)           /* new and changed ones */
    STORE_DERIVED_OF_RUN(STORE_X)           /* all of those runs */
};
#undef STORE_X

/* One transaction. */
int store_write_derived(struct store *store, const struct store_derived *derived,
                        struct sprof_error *error);
void store_derived_release(struct store_derived *derived);

/* Changes the state of a run (and nothing else). */
int store_set_state(struct store *store, uint32_t run_id, enum store_state state,
                    struct sprof_error *error);

#endif
