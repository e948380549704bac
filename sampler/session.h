/* The sampler from inside. */
#ifndef SPROF_SAMPLER_SESSION_H
#define SPROF_SAMPLER_SESSION_H

#include "sampler/sampler.h"
#include "sampler/source.h"

struct sampler {
    struct sampler_facts facts;
    struct sampler_event_list events; /* of all sources, in their order */
    struct target *target;
    SPROF_VEC(struct source *) sources;
    struct target_snapshot initial; /* handed out before anything else */
    bool introduces;             /* processes that nothing was said of yet: see introductions.c */
    bool is_enclosed;            /* in a pid namespace of its own, and samples what is outside */
    struct sprof_map introduced; /* process → 1 */
    const struct model_record *held; /* what follows `initial`; NULL: nothing is held back */
    bool started, stopped;
    uint64_t last_ns;             /* time of the last record handed out */
    enum sampler_capture capture; /* as asked for last */
    int interrupt_fd, watched_fd;
    bool was_paused; /* at some time: then it is unknown what of the CPU time of ended commands
                        counts */
    struct source_wait wait;
    struct sampler_counters counts; /* its own part of them */
};

/* As sampler_open, with these kinds of sources (ended by NULL) instead of the program's. */
int sampler_open_kinds(struct sampler **sampler, const struct source_kind *const *kinds,
                       const struct sampler_options *options, struct sprof_error *error);

/* What the sources say of themselves now, and which events they have. Numbers of events never
 * change. Returns 0 or SPROF_ENOMEM, which only the first call may. */
int sampler_state_facts(struct sampler *sampler);

/* In a pid namespace of its own all processes outside have one number, 0 or (at their end) -1, and
 * so are one process without code. Returns 0, 1 where the record says nothing of that one, or
 * SPROF_ENOMEM. */
int sampler_merge_outside(struct sampler *sampler, struct model_record *taken);

/* Hands out what /proc shows of the processes that a record speaks of, where nothing was said of
 * them yet, and holds the record back until then. Returns 0 and the first of all these, or
 * SPROF_ENOMEM. The second: after `initial`, the record that was held back, or NULL. */
int sampler_introduce(struct sampler *sampler, const struct model_record *taken,
                      const struct model_record **record);
const struct model_record *sampler_introductions_end(struct sampler *sampler);

/* Opens one more source beside those the sampler has. */
int sampler_add_source(struct sampler *sampler, const struct source_kind *kind,
                       const struct sampler_options *options, struct sprof_error *error);

#endif
