/* Reads the bytes of a captured or living stack, and finds out where it ends. */
#include "recording/stack.h"
#include "target/target.h"

#include <string.h>

enum {
    PAGE_BYTES = 4096,
    CHAIN_MAX = 1024, /* frames looked at */
};

static int read_live(const struct recording_stack *stack, uint64_t address, uint8_t *buffer,
                     size_t size)
{
    const struct unwind_space *space = stack->space;
    const struct unwind_region *code = space ? space->find(space->context, address) : NULL;
    if (code && recording_region_is_gone(code))
        return recording_region_read(code, address, buffer, size);
    if (target_read_memory(stack->pid, address, buffer, size) == size)
        return 0;
    return code ? recording_region_read(code, address, buffer, size) : SPROF_EIO;
}

/* Reads across an end of what was captured are refused while smaller ones are possible: the walk
 * then reads less, down to the end of the page. */
int recording_stack_read(void *context, uint64_t address, void *to, size_t size)
{
    const struct recording_stack *stack = context;
    const struct model_sample *sample = stack->sample;
    uint8_t *buffer = to;
    const uint64_t ahead = sample->tail_address > address ? sample->tail_address - address : 0;
    const size_t below = ahead < size ? (size_t)ahead : size;
    const uint64_t offset = address + below - sample->tail_address;
    const uint64_t left = offset < sample->tail_size ? sample->tail_size - offset : 0;
    const size_t inside = left < size - below ? (size_t)left : size - below;
    if (!inside)
        return read_live(stack, address, buffer, size);
    if (inside < size && size > PAGE_BYTES - address % PAGE_BYTES)
        return SPROF_EIO;
    memcpy(buffer + below, sample->tail + offset, inside);
    const size_t above = size - below - inside;
    if (below && read_live(stack, address, buffer, below))
        return SPROF_EIO;
    return above ? read_live(stack, address + below + inside, buffer + below + inside, above) : 0;
}

/* To the end of the page: so much can be captured without a check whether it is there. */
struct model_stack_extent recording_stack_extent(const struct model_sample *sample,
                                                 const struct unwind_stack *stack)
{
    const uint64_t slice_end = sample->registers[ARCH_SP] + sample->stack_size;
    struct model_stack_extent extent = {.kind = MODEL_STACK_UNKNOWN};
    const uint64_t sp = sample->registers[ARCH_SP];
    if (stack->interrupted) {
        extent.kind = MODEL_STACK_INTERRUPTED;
        return extent;
    }
    if (stack->end == MODEL_END_ROOT && !stack->switched) /* at its first instruction it is empty */
        extent.used = stack->top > sp ? stack->top - sp : 1;
    if (stack->switched) {
        extent.kind = MODEL_STACK_ELSEWHERE;
    } else if (stack->end == MODEL_END_ROOT && sample->stack_full && stack->top <= slice_end) {
        extent.kind = MODEL_STACK_SHALLOW;
    } else if (stack->end == MODEL_END_ROOT) {
        extent.kind = MODEL_STACK_ENDS;
        extent.end = (stack->top + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
    return extent;
}

/* == Frame pointers == */

static bool captured_word(const uint8_t *bytes, uint64_t start, size_t size, uint64_t address,
                          uint64_t *word)
{
    if (size < sizeof *word || address - start > size - sizeof *word)
        return false;
    memcpy(word, bytes + (address - start), sizeof *word);
    return true;
}

static bool read_word(const struct model_sample *sample, uint64_t address, uint64_t *word)
{
    const size_t rest_size = sample->tail_with_sample ? sample->tail_size : 0;
    return captured_word(sample->stack, sample->registers[ARCH_SP], sample->stack_size, address,
                         word) ||
           captured_word(sample->tail, sample->tail_address, rest_size, address, word);
}

/* From one frame to its caller's: where its frame pointer was saved, below its return address. */
static bool next_frame(const struct model_sample *sample, uint64_t *frame, uint64_t *address)
{
    uint64_t caller;
    if (!read_word(sample, *frame + 8, address) || !read_word(sample, *frame, &caller))
        return false;
    /* The outermost frame has nowhere to go on to, but its return address counts. */
    *frame = caller > *frame ? caller : UINT64_MAX - 16;
    return true;
}

size_t recording_stack_callers(const struct model_sample *sample, const struct unwind_stack *stack,
                               uint64_t *callers, size_t most)
{
    const bool ended = stack->end != MODEL_END_TRUNCATED && stack->end != MODEL_END_NO_CFI &&
                       stack->end != MODEL_END_BAD_MEMORY;
    if (ended || !stack->frames[stack->count - 1].is_return)
        return 0;
    const uint64_t address = stack->frames[stack->count - 1].address;
    uint64_t frame = sample->registers[ARCH_FP], found;
    size_t count = 0;
    bool behind = false;
    for (size_t i = 0; i < CHAIN_MAX && next_frame(sample, &frame, &found); i++) {
        if (found == address && behind)
            return 0;
        if (behind && count < most)
            callers[count++] = found;
        behind |= found == address;
    }
    return count;
}
