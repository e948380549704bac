/* Stacks deeper than their slices: what follows a slice is copied from the live target as soon as
 * the record is seen, long before its turn comes. The copies lie in one bounded ring of bytes. */
#ifndef SPROF_SAMPLER_REST_H
#define SPROF_SAMPLER_REST_H

#include "sampler/decode.h"

#include "base/base.h"

enum {
    REST_BYTES_MAX = 1 << 20,   /* of one stack */
    REST_POOL_BYTES = 16 << 20, /* of all copies that wait for their record's turn */
};

/* One copy, and the record it belongs to. */
struct rest {
    size_t ring;
    uint64_t offset; /* of the record in its ring */
    uint64_t address;
    size_t start, size; /* in the pool */
    bool taken;
};

/* Zero is valid: no copies, and no memory until the first. */
struct rests {
    uint8_t *bytes;
    struct rest *items; /* a ring of REST_ITEMS_MAX, in the order of copying */
    size_t first, count;
};

void rests_release(struct rests *rests);

/* Copies `wanted` bytes, at most REST_BYTES_MAX, of what follows the slice of the record at
 * `offset` of ring `ring`. Where the pool is full, nothing: whoever needs it reads it later.
 * Returns the bytes copied. */
size_t rests_copy(struct rests *rests, size_t ring, uint64_t offset,
                  const struct sampler_stack *stack, size_t wanted);

/* The copy made for a record, or NULL; older ones of its ring are given up. What is returned stays
 * until the next rests_drop_taken. */
const struct rest *rests_take(struct rests *rests, size_t ring, uint64_t offset);
void rests_drop_taken(struct rests *rests);

#endif
