/* Keeps samples that wait for a table. */
#include "recording/pending.h"

#include "arch/arch.h"

#include <stdlib.h>
#include <string.h>

enum { TAILS_BYTES = 48 << 20 }; /* beyond so much memory, tails are not kept */

void recording_pending_init(struct recording_pending *pending)
{
    *pending = (struct recording_pending){0};
    pending->end = &pending->first;
}

static void free_sample(struct recording_pending *pending, struct recording_pending_sample *waiting)
{
    if (waiting->thread->waiting == waiting)
        waiting->thread->waiting = NULL;
    recording_stack_copy_free(waiting->stack, &pending->bytes);
    recording_stack_copy_free(waiting->tail, &pending->bytes);
    pending->bytes -= sizeof *waiting +
                      waiting->sample.kernel_chain_count * sizeof *waiting->kernel_chain +
                      waiting->sample.call_count * sizeof *waiting->sample.calls;
    pending->count--;
    free(waiting);
}

void recording_pending_release(struct recording_pending *pending)
{
    while (pending->first) {
        struct recording_pending_sample *next = pending->first->next;
        free_sample(pending, pending->first);
        pending->first = next;
    }
    free(pending->buffer);
    recording_pending_init(pending);
}

/* Only the stack is missing where memory runs out: the sample is in the list by then. */
int recording_pending_add(struct recording_pending *pending,
                          const struct recording_pending_sample *taken)
{
    const struct model_sample *sample = &taken->sample;
    const struct recording_pending_sample *before = taken->thread->waiting;
    const size_t chain_bytes = sample->kernel_chain_count * sizeof *sample->kernel_chain;
    const size_t call_bytes = sample->call_count * sizeof *sample->calls;
    struct recording_pending_sample *waiting = malloc(sizeof *waiting + chain_bytes + call_bytes);
    if (!waiting)
        return SPROF_ENOMEM;
    *waiting = *taken;
    waiting->next = NULL;
    waiting->stack = waiting->tail = NULL;
    waiting->sample.stack_size = waiting->sample.tail_size = 0;
    if (chain_bytes)
        memcpy(waiting->kernel_chain, sample->kernel_chain, chain_bytes);
    waiting->sample.kernel_chain = waiting->kernel_chain;
    if (call_bytes)
        waiting->sample.calls =
            memcpy((uint8_t *)waiting->kernel_chain + chain_bytes, sample->calls, call_bytes);
    *pending->end = waiting;
    pending->end = &waiting->next;
    pending->bytes += sizeof *waiting + chain_bytes + call_bytes;
    pending->count++;
    waiting->thread->waiting = waiting;
    if (sample->stack_size) {
        waiting->stack =
            recording_stack_copy_new(before ? before->stack : NULL, sample->registers[ARCH_SP],
                                     sample->stack, sample->stack_size, &pending->bytes);
        if (!waiting->stack)
            return SPROF_ENOMEM;
        waiting->sample.stack_size = sample->stack_size;
    }
    if (sample->tail_size && pending->bytes > TAILS_BYTES) {
        pending->dropped_tails++;
    } else if (sample->tail_size) {
        waiting->tail = recording_stack_copy_new(before ? before->tail : NULL, sample->tail_address,
                                                 sample->tail, sample->tail_size, &pending->bytes);
        if (!waiting->tail)
            return SPROF_ENOMEM;
        waiting->sample.tail_size = sample->tail_size;
    }
    if (pending->bytes > pending->most_bytes)
        pending->most_bytes = pending->bytes;
    return 0;
}

/* Puts the copies together where the sample's pointers say. */
static int restore(struct recording_pending *pending, struct recording_pending_sample *waiting)
{
    struct model_sample *sample = &waiting->sample;
    const size_t bytes = sample->stack_size + sample->tail_size;
    if (bytes > pending->buffer_bytes) {
        free(pending->buffer);
        pending->buffer = malloc(bytes);
        pending->buffer_bytes = pending->buffer ? bytes : 0;
        if (!pending->buffer)
            return SPROF_ENOMEM;
    }
    sample->stack = pending->buffer;
    if (waiting->stack)
        recording_stack_copy_read(waiting->stack, pending->buffer);
    sample->tail = bytes ? pending->buffer + sample->stack_size : NULL;
    if (waiting->tail)
        recording_stack_copy_read(waiting->tail, pending->buffer + sample->stack_size);
    return 0;
}

int recording_pending_retry(struct recording_pending *pending,
                            int (*retry)(void *, const struct recording_pending_sample *),
                            void *context)
{
    struct recording_pending_sample **link = &pending->first;
    while (*link) {
        struct recording_pending_sample *waiting = *link;
        const int restored = restore(pending, waiting);
        const int result = restored ? restored : retry(context, waiting);
        if (result < 0)
            return result;
        if (result > 0) {
            link = &waiting->next;
            continue;
        }
        *link = waiting->next;
        if (!*link)
            pending->end = link;
        free_sample(pending, waiting);
    }
    return 0;
}
