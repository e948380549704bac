/* Stacks deeper than their slices: what follows a slice is copied from the live target as soon as
 * the record is seen, long before its turn comes. The copies lie in one bounded ring of bytes. */
#ifndef SPROF_SAMPLER_STACK_TAIL_COPIES_H
#define SPROF_SAMPLER_STACK_TAIL_COPIES_H

#include "sampler/stack_tail.h"

#include "base/base.h"

enum {
    STACK_TAIL_BYTES_MAX = 1 << 20,   /* of one stack */
    STACK_TAIL_POOL_BYTES = 16 << 20, /* of all copies that wait for their record's turn */
};

/* One copy, and the record it belongs to. */
struct stack_tail_copy {
    size_t ring;
    uint64_t offset; /* of the record in its ring */
    uint64_t address;
    size_t start, size; /* in the pool */
    bool taken;
};

/* Zero is valid: no copies, and no memory until the first. */
struct stack_tail_copies {
    uint8_t *bytes;
    struct stack_tail_copy *items; /* a ring of COPIES_MAX, in the order of copying */
    size_t first, count;
};

void sampler_stack_tail_copies_release(struct stack_tail_copies *copies);

/* Copies `wanted` bytes, at most STACK_TAIL_BYTES_MAX, of what follows the slice of the record at
 * `offset` of ring `ring`. Where the pool is full, nothing: it is read later where it is needed.
 * Returns the bytes copied. */
size_t sampler_stack_tail_copies_make(struct stack_tail_copies *copies, size_t ring,
                                      uint64_t offset, const struct sampler_stack *stack,
                                      size_t wanted);

/* The copy made for a record, or NULL; older ones of its ring are given up. What is returned stays
 * until the next sampler_stack_tail_copies_drop_taken. */
const struct stack_tail_copy *sampler_stack_tail_copies_take(struct stack_tail_copies *copies,
                                                             size_t ring, uint64_t offset);
void sampler_stack_tail_copies_drop_taken(struct stack_tail_copies *copies);

/* The same as a provider of sampler/stack_tail.h; self: the struct. */
bool sampler_stack_tail_copies_provide(void *self, const struct sampler_stack *stack, size_t ring,
                                       uint64_t offset, struct sampler_stack_tail *tail);

#endif
