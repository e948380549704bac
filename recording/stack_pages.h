/* Copies of stacks that share memory: of a deep stack only the innermost pages differ from one
 * sample to the next. */
#ifndef SPROF_RECORDING_STACK_PAGES_H
#define SPROF_RECORDING_STACK_PAGES_H

#include "base/base.h"

struct stack_page;

struct stack_copy {
    uint64_t address;
    size_t size, count;
    struct stack_page *pages[]; /* of 4 KiB by address; the first and the last may be shorter */
};

/* Copies `size` bytes that lay at `address`. Pages that are the same in `before`, an earlier copy
 * of the same thread's stack or NULL, are shared. *held grows by the bytes of memory taken. The
 * caller frees. Returns NULL when out of memory. */
struct stack_copy *recording_stack_copy_new(const struct stack_copy *before, uint64_t address,
                                            const uint8_t *bytes, size_t size, size_t *held);

/* *held shrinks by what is given back. A copy that is NULL is freed. */
void recording_stack_copy_free(struct stack_copy *copy, size_t *held);

/* Writes all bytes of the copy. */
void recording_stack_copy_read(const struct stack_copy *copy, uint8_t *to);

#endif
