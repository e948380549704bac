#include "sampler/rest.h"

#include "sampler/sampler.h"
#include "target/target.h"

#include <stdlib.h>

enum {
    REST_ITEMS_MAX = 1024,
};

void rests_release(struct rests *rests)
{
    free(rests->bytes);
    free(rests->items);
    *rests = (struct rests){0};
}

/* ---- The pool ----------------------------------------------------------------------------------
 */

static struct rest *item(const struct rests *rests, size_t index)
{
    return &rests->items[(rests->first + index) % REST_ITEMS_MAX];
}

static bool open_pool(struct rests *rests)
{
    if (!rests->bytes)
        rests->bytes = malloc(REST_POOL_BYTES);
    if (!rests->items)
        rests->items = calloc(REST_ITEMS_MAX, sizeof *rests->items);
    return rests->bytes && rests->items;
}

/* Where `size` bytes in one piece are free, or REST_POOL_BYTES where they are not. */
static size_t find_room(const struct rests *rests, size_t size)
{
    if (!rests->count)
        return 0;
    if (rests->count == REST_ITEMS_MAX)
        return REST_POOL_BYTES;
    const struct rest *oldest = item(rests, 0), *newest = item(rests, rests->count - 1);
    const size_t end = newest->start + newest->size;
    if (newest->start < oldest->start) /* the used bytes wrap: the free ones lie between */
        return oldest->start - end >= size ? end : REST_POOL_BYTES;
    if (REST_POOL_BYTES - end >= size)
        return end;
    return oldest->start > size ? 0 : REST_POOL_BYTES;
}

size_t rests_copy(struct rests *rests, size_t ring, uint64_t offset,
                  const struct sampler_stack *stack, size_t wanted)
{
    const uint64_t address = stack->pointer + stack->captured;
    if (!wanted || !open_pool(rests))
        return 0;
    const size_t start = find_room(rests, wanted);
    if (start == REST_POOL_BYTES)
        return 0;
    const size_t size = target_read_memory(stack->pid, address, rests->bytes + start, wanted);
    if (size)
        *item(rests, rests->count++) = (struct rest){
            .ring = ring, .offset = offset, .address = address, .start = start, .size = size};
    return size;
}

const struct rest *rests_take(struct rests *rests, size_t ring, uint64_t offset)
{
    const struct rest *found = NULL;
    for (size_t i = 0; i < rests->count; i++) {
        struct rest *rest = item(rests, i);
        if (rest->ring != ring || rest->offset > offset)
            continue;
        found = rest->offset == offset && !rest->taken ? rest : found;
        rest->taken = true;
    }
    return found;
}

void rests_drop_taken(struct rests *rests)
{
    while (rests->count && item(rests, 0)->taken) {
        rests->first = (rests->first + 1) % REST_ITEMS_MAX;
        rests->count--;
    }
}
