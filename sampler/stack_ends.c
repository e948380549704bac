/* Keeps where the stacks of threads end: from mappings, and from walks. */
#include "sampler/stack_ends.h"

#include "sampler/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE_BYTES = 4096,
    SLOTS_BYTES = SAMPLING_STACKS * sizeof(struct sampling_stack),
    WASTE_BYTES = 64 << 10, /* copied for nothing until an end is given up */
    GAP_BYTES = 64 << 10,   /* copied where a slice ends before its stack does */
};

int sampler_stack_ends_open(struct stack_ends *ends, int map_fd)
{
    *ends = (struct stack_ends){.shared = map_fd >= 0};
    void *slots = map_fd < 0
                      ? calloc(1, SLOTS_BYTES)
                      : mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
    if (!slots || slots == MAP_FAILED)
        return -errno;
    ends->slots = slots;
    return 0;
}

void sampler_stack_ends_close(struct stack_ends *ends)
{
    if (ends->slots && ends->shared)
        munmap(ends->slots, SLOTS_BYTES);
    else
        free(ends->slots);
    *ends = (struct stack_ends){0};
}

static struct sampling_stack *slot_of(const struct stack_ends *ends, pid_t tid)
{
    return &ends->slots[(uint32_t)tid % SAMPLING_STACKS];
}

static bool holds(const struct sampling_stack *slot, pid_t tid, uint64_t stack_pointer)
{
    return slot->tid == (uint32_t)tid &&
           (slot->end_is == SAMPLING_END_ELSEWHERE ||
            (stack_pointer >= slot->low && stack_pointer < slot->end));
}

const struct sampling_stack *sampler_stack_ends_find(const struct stack_ends *ends, pid_t tid,
                                                     uint64_t stack_pointer)
{
    const struct sampling_stack *slot = ends->slots ? slot_of(ends, tid) : NULL;
    return slot && holds(slot, tid, stack_pointer) ? slot : NULL;
}

void sampler_stack_ends_set_mapping(struct stack_ends *ends, pid_t tid, uint64_t low, uint64_t end)
{
    if (ends->slots)
        *slot_of(ends, tid) = (struct sampling_stack){
            .tid = (uint32_t)tid, .end_is = SAMPLING_END_MAPPING, .low = low, .end = end};
}

/* An end that a walk contradicts by far costs the target copies for nothing. */
static bool wastes(const struct sampling_stack *slot, uint64_t slice_end)
{
    return slot->end_is == SAMPLING_END_MAPPING ||
           (slot->end_is == SAMPLING_END_LEARNED && slot->end > slice_end + WASTE_BYTES);
}

void sampler_stack_ends_learn(struct stack_ends *ends, pid_t tid, uint64_t stack_pointer,
                              uint64_t slice_end, struct model_stack_extent found)
{
    if (!ends->slots || found.kind == MODEL_STACK_INTERRUPTED)
        return;
    struct sampling_stack *slot = slot_of(ends, tid);
    if (!holds(slot, tid, stack_pointer))
        *slot = (struct sampling_stack){.tid = (uint32_t)tid,
                                        .end_is = SAMPLING_END_MAPPING,
                                        .low = stack_pointer,
                                        .end = slice_end};
    if (found.kind == MODEL_STACK_ELSEWHERE) {
        slot->end_is = SAMPLING_END_ELSEWHERE;
    } else if (slot->end_is == SAMPLING_END_ELSEWHERE || slot->end_is == SAMPLING_END_EXACT) {
        return;
    } else if (found.kind == MODEL_STACK_ENDS) {
        slot->end_is = SAMPLING_END_LEARNED;
        slot->end = found.end;
    } else if (wastes(slot, slice_end)) {
        slot->end_is = SAMPLING_END_SHALLOW;
    }
}

void sampler_stack_ends_forget(struct stack_ends *ends, pid_t tid)
{
    if (ends->slots && slot_of(ends, tid)->tid == (uint32_t)tid)
        *slot_of(ends, tid) = (struct sampling_stack){0};
}

size_t sampler_stack_ends_beyond(const struct stack_ends *ends, const struct sampler_stack *stack,
                                 size_t most, bool *known)
{
    const struct sampling_stack *slot = sampler_stack_ends_find(ends, stack->tid, stack->pointer);
    const uint64_t slice_end = stack->pointer + stack->captured;
    /* A slice that is not full ends with the memory of its stack, or at a page that was not used so
     * far: then the sample fell into the beginning of a function with a large frame. */
    const bool full = stack->captured == stack->asked;
    *known = slot != NULL;
    if (!slot)
        return full ? most : GAP_BYTES;
    if (slot->end_is == SAMPLING_END_SHALLOW || slot->end_is == SAMPLING_END_ELSEWHERE)
        return full ? 0 : GAP_BYTES;
    const uint64_t beyond = slot->end > slice_end ? slot->end - slice_end : 0;
    return beyond < most ? (size_t)beyond : most;
}
