/* The state of a recording session, shared by the files that make it up. Everything here belongs to
 * the draining thread; the builder's and the writer's sides are in images.h and writer.h. */
#ifndef SPROF_RECORD_SESSION_H
#define SPROF_RECORD_SESSION_H

#include "model/model.h"
#include "recording/recording.h"
#include "record/ledger.h"
#include "record/record.h"
#include "sampler/sampler.h"
#include "store/store.h"

#include <signal.h>

struct record_session {
    struct record_options options; /* copies of the caller's pointers */
    const struct sprof_log *log;
    struct sampler *sampler;
    struct store *store;
    bool created;  /* the database was made by this session … */
    bool replaces; /* … in the place of another */
    struct model_world world;
    struct cache *cache; /* NULL: none */
    struct record_images images;
    struct record_jit_owners jit_owners;
    struct record_walk walk;
    struct record_pending pending;
    struct record_writer writer;
    struct record_ledger ledger;
    struct store_run run;
    struct store_event event;
    uint32_t phase; /* id of the run's phase */
    struct sprof_arena arena; /* texts of run and event */
    uint64_t start_ns;        /* CLOCK_MONOTONIC of the run's time 0 */
    uint64_t first_sample_ns; /* samples before are dropped (--delay) */
    uint64_t end_ns;          /* 0: no end set */
    uint64_t next_flush_ns;
    uint64_t own_cpu_start_ns;
    uint32_t last_frame, last_node; /* largest ids of the recording appended to */
    size_t flushed_frames, flushed_nodes, flushed_mappings;
    uint64_t waited;  /* samples that had to wait for a table */
    uint64_t delayed; /* samples dropped by --delay */
    volatile sig_atomic_t interrupted;
    struct sprof_map next_rescan; /* process → when /proc may be asked again, and how often in vain */
};

/* Applies one record of the sampler. Returns 0 or a negative code. */
int record_apply(struct record_session *session, const struct model_record *record);

/* Takes over finished tables and processes the samples that waited for them. */
int record_apply_waiting(struct record_session *session);

/* Books what no sample told: CPU time of threads that were never sampled, what short ones had left
 * over after their last sample, and in equal parts on those that ended, `unseen_ns` of their ends.
 */
int record_book_unsampled(struct record_session *session, uint64_t unseen_ns);

/* Moves everything new or changed into the batch at hand. `last` also writes what changes seldom.
 */
int record_collect_rows(struct record_session *session, bool last);

/* Fills the run and event rows with what is known before the start. */
int record_describe(struct record_session *session, struct sprof_error *error);

/* The run's phase; its end is known once the run has ended. */
int record_phase_row(struct record_session *session, struct store_batch *batch, bool ended);

/* The counters of a finished run, as rows. */
int record_counter_rows(struct record_session *session, struct store_batch *batch);

#endif
