/* The records of many rings in the order of their times. */
#ifndef SPROF_SAMPLER_MERGE_H
#define SPROF_SAMPLER_MERGE_H

#include "sampler/ring.h"

#include "base/base.h"

/* Zero is a valid merge of no rings. Rings may be added at any time, but not
 * between sampler_merge_first and sampler_merge_advance. */
struct sampler_merge {
    SPROF_VEC(struct sampler_ring) rings;
    struct merge_entry {
        uint64_t time_ns; /* of the ring's first unread record */
        size_t ring;
    } * heap; /* the earliest first; room for all rings */
    size_t heap_count;
    bool *queued;      /* [ring]: it stands in the heap */
    uint64_t *last_ns; /* [ring]: the time of its last record */
};

/* Takes over a ring. Returns 0 or SPROF_ENOMEM, in which case it is closed. */
int sampler_merge_add(struct sampler_merge *merge, const struct sampler_ring *ring);

/* Gives read room back to the kernel, and looks what has been written. Returns whether something
 * has. */
void sampler_merge_publish(struct sampler_merge *merge);
bool sampler_merge_refresh(struct sampler_merge *merge);

/* The ring with the earliest record, and its time; NULL when there is none. */
struct sampler_ring *sampler_merge_first(const struct sampler_merge *merge, uint64_t *time_ns);

/* Goes on behind the first record, of `size` bytes; its bytes stay until sampler_merge_publish. */
void sampler_merge_advance(struct sampler_merge *merge, size_t size);

/* Passes over all that is left in the ring of the first record. */
void sampler_merge_skip_ring(struct sampler_merge *merge);

void sampler_merge_release(struct sampler_merge *merge);

#endif
