/* A recording from inside. Everything here belongs to its owner's thread; the builder's and the
 * writer's sides are in images.h and writer.h. */
#ifndef SPROF_RECORDING_PARTS_H
#define SPROF_RECORDING_PARTS_H

#include "recording/early_names.h"
#include "recording/jit_owner.h"
#include "recording/lookups.h"
#include "recording/pending.h"
#include "recording/recording.h"
#include "recording/walk.h"
#include "recording/writer.h"

#include <stdatomic.h>

struct recording {
    struct recording_options options;
    struct store *store;        /* NULL: nothing is stored */
    bool created;               /* the database was made by this recording … */
    struct store_former former; /* … in the place of another */
    bool appends;               /* its run has a number behind those that were there */
    struct model_process_table process_table;
    struct cache *cache; /* NULL: none */
    struct recording_images images;
    struct recording_early early;
    struct recording_lookups lookups;
    struct recording_jit_owners jit_owners;
    struct recording_walk walk;
    struct recording_pending pending;
    struct recording_writer writer;
    struct sprof_arena arena;                        /* commands and origins of processes */
    SPROF_VEC(const struct target_origin *) origins; /* distinct ones, of model_process.origin */
    struct sprof_map origin_numbers;                 /* hash → place in `origins`, from 1 */
    struct store_run run;
    struct store_phase phase;                   /* the one at hand; id 0: none yet */
    SPROF_VEC(struct store_sampled_user) users; /* those in the database, or on the way there */
    struct sprof_map of_unknown_users;          /* process → 1 */
    struct sprof_map kept_processes;            /* where only those with samples are kept: → 1 */
    uint32_t last_event, last_phase; /* largest ids in use, also of the database appended to */
    uint64_t last_sample;            /* … of the database appended to */
    uint32_t last_frame, last_node;  /* of the database appended to */
    uint64_t start_ns;               /* CLOCK_MONOTONIC of the run's time 0 */
    uint64_t first_ns;               /* samples before are dropped; not before start_ns */
    size_t flushed_frames, flushed_nodes, flushed_mappings;
    uint64_t waited;                          /* samples that had to wait for a table */
    uint64_t delayed;                         /* samples before first_ns */
    SPROF_VEC(struct recording_frame) walked; /* by recording_walk_only */
    bool weights_are_time;                    /* of samples: an event is a clock, … */
    uint32_t clock_event;                     /* … the first of these; 0: none */
    atomic_bool hurried;
    atomic_bool written; /* all rows are in the database */
};

static inline uint64_t recording_time(const struct recording *recording, uint64_t time_ns)
{
    return time_ns > recording->start_ns ? time_ns - recording->start_ns : 0;
}

/* Takes over what /proc has answered. Returns how many answers, or SPROF_ENOMEM. */
int recording_apply_lookups(struct recording *recording);

static inline struct model_process *recording_process(const struct recording *recording,
                                                      uint32_t id)
{
    return recording->process_table.processes
        .items[id - 1 - recording->process_table.first_process];
}

/* Queues the question whose the perf map of a process with code made at run time is: once a
 * process, and for a jitdump that it maps (`dump`; else NULL). Returns 0 or a negative code. */
int recording_ask_owner(struct recording *recording, pid_t pid, const char *dump, uint64_t time_ns);

/* Notes the user of a process that is new or has executed a program. */
int recording_note_user(struct recording *recording, const struct model_process *process);

/* Adds the unknown user where samples, or calls, are of a process whose user could not be read. */
int recording_add_unknown_user(struct recording *recording);

/* Sets where a process belongs, and those that it has forked. Returns 0 or SPROF_ENOMEM. */
int recording_set_origin(struct recording *recording, struct model_process *process,
                         const struct target_origin *found);
int recording_origin_row(const struct model_process *process, struct store_batch *batch);
void recording_origins_release(struct recording *recording);

/* Moves everything new or changed into the batch at hand. `last` also writes what changes seldom.
 * Returns 0 or SPROF_ENOMEM. */
int recording_collect_rows(struct recording *recording, bool last);

#endif
