/* Copies what follows the slices of samples from live targets, into one bounded ring of bytes. */
#include "sampler/stack_tail_copies.h"

#include "sampler/sampler.h"
#include "target/target.h"

#include <stdlib.h>

enum {
    COPIES_MAX = 1024,
};

void sampler_stack_tail_copies_release(struct stack_tail_copies *copies)
{
    free(copies->bytes);
    free(copies->items);
    *copies = (struct stack_tail_copies){0};
}

/* == The pool == */

static struct stack_tail_copy *item(const struct stack_tail_copies *copies, size_t index)
{
    return &copies->items[(copies->first + index) % COPIES_MAX];
}

static bool open_pool(struct stack_tail_copies *copies)
{
    if (!copies->bytes)
        copies->bytes = malloc(STACK_TAIL_POOL_BYTES);
    if (!copies->items)
        copies->items = calloc(COPIES_MAX, sizeof *copies->items);
    return copies->bytes && copies->items;
}

/* Where `size` bytes in one piece are free, or STACK_TAIL_POOL_BYTES where they are not. */
static size_t find_room(const struct stack_tail_copies *copies, size_t size)
{
    if (!copies->count)
        return 0;
    if (copies->count == COPIES_MAX)
        return STACK_TAIL_POOL_BYTES;
    const struct stack_tail_copy *oldest = item(copies, 0),
                                 *newest = item(copies, copies->count - 1);
    const size_t end = newest->start + newest->size;
    if (newest->start < oldest->start) /* the used bytes wrap: the free ones lie between */
        return oldest->start - end >= size ? end : STACK_TAIL_POOL_BYTES;
    if (STACK_TAIL_POOL_BYTES - end >= size)
        return end;
    return oldest->start > size ? 0 : STACK_TAIL_POOL_BYTES;
}

size_t sampler_stack_tail_copies_make(struct stack_tail_copies *copies, size_t ring,
                                      uint64_t offset, const struct sampler_stack *stack,
                                      size_t wanted)
{
    const uint64_t address = stack->pointer + stack->captured;
    if (!wanted || !open_pool(copies))
        return 0;
    const size_t start = find_room(copies, wanted);
    if (start == STACK_TAIL_POOL_BYTES)
        return 0;
    const size_t size = target_read_memory(stack->pid, address, copies->bytes + start, wanted);
    if (size)
        *item(copies, copies->count++) = (struct stack_tail_copy){
            .ring = ring, .offset = offset, .address = address, .start = start, .size = size};
    return size;
}

const struct stack_tail_copy *sampler_stack_tail_copies_take(struct stack_tail_copies *copies,
                                                             size_t ring, uint64_t offset)
{
    const struct stack_tail_copy *found = NULL;
    for (size_t i = 0; i < copies->count; i++) {
        struct stack_tail_copy *copy = item(copies, i);
        if (copy->ring != ring || copy->offset > offset)
            continue;
        found = copy->offset == offset && !copy->taken ? copy : found;
        copy->taken = true;
    }
    return found;
}

void sampler_stack_tail_copies_drop_taken(struct stack_tail_copies *copies)
{
    while (copies->count && item(copies, 0)->taken) {
        copies->first = (copies->first + 1) % COPIES_MAX;
        copies->count--;
    }
}

bool sampler_stack_tail_copies_provide(void *self, const struct sampler_stack *stack, size_t ring,
                                       uint64_t offset, struct sampler_stack_tail *tail)
{
    (void)stack;
    struct stack_tail_copies *copies = self;
    const struct stack_tail_copy *made = sampler_stack_tail_copies_take(copies, ring, offset);
    if (made)
        *tail = (struct sampler_stack_tail){
            .bytes = copies->bytes + made->start, .address = made->address, .size = made->size};
    return made != NULL;
}
