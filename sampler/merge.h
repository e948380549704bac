/* The records of many rings in the order of their times. */
#ifndef SPROF_SAMPLER_MERGE_H
#define SPROF_SAMPLER_MERGE_H

#include "sampler/ring.h"

#include "base/base.h"

/* Zero is a valid merge of no rings. Rings are added before the first refresh. */
struct merge {
    SPROF_VEC(struct ring) rings;
    struct merge_entry {
        uint64_t time_ns; /* of the ring's first unread record */
        size_t ring;
    } * heap; /* the earliest first; room for all rings */
    size_t heap_count;
    bool *queued;      /* [ring]: it stands in the heap */
    uint64_t *last_ns; /* [ring]: the time of its last record */
};

/* Takes over a ring. Returns 0 or SPROF_ENOMEM, in which case it is closed. */
int merge_add(struct merge *merge, const struct ring *ring);

/* Gives read room back to the kernel, and looks what has been written. Returns whether something
 * has. */
void merge_publish(struct merge *merge);
bool merge_refresh(struct merge *merge);

/* The ring with the earliest record, and its time; NULL when there is none. */
struct ring *merge_first(const struct merge *merge, uint64_t *time_ns);

/* Goes on behind the first record, of `size` bytes; its bytes stay until merge_publish. */
void merge_advance(struct merge *merge, size_t size);

/* Passes over all that is left in the ring of the first record. */
void merge_skip_ring(struct merge *merge);

void merge_release(struct merge *merge);

#endif
