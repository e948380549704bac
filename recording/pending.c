#include "recording/pending.h"

#include <stdlib.h>
#include <string.h>

/* What follows the slices of all samples that wait. */
enum { REST_BYTES_MAX = 8 << 20 };

void record_pending_init(struct record_pending *pending)
{
    *pending = (struct record_pending){0};
    pending->end = &pending->first;
}

void record_pending_release(struct record_pending *pending)
{
    while (pending->first) {
        struct record_pending_sample *next = pending->first->next;
        free(pending->first);
        pending->first = next;
    }
    record_pending_init(pending);
}

int record_pending_add(struct record_pending *pending, const struct model_record *record,
                       struct model_process *process, struct model_thread *thread)
{
    struct model_sample kept = record->sample;
    const struct model_sample *sample = &kept;
    if (pending->rest_bytes + kept.tail_size > REST_BYTES_MAX)
        kept.tail_size = 0;
    const size_t chain_bytes = sample->kernel_chain_count * sizeof *sample->kernel_chain;
    const size_t bytes = sizeof(struct record_pending_sample) + chain_bytes + sample->stack_size;
    struct record_pending_sample *copy = malloc(bytes + sample->tail_size);
    if (!copy)
        return SPROF_ENOMEM;
    *copy = (struct record_pending_sample){
        .sample = *sample,
        .process = process,
        .thread = thread,
        .time_ns = record->time_ns,
        .cpu = record->cpu,
        .bytes = bytes,
    };
    uint8_t *stack = (uint8_t *)copy->data + chain_bytes;
    if (chain_bytes)
        memcpy(copy->data, sample->kernel_chain, chain_bytes);
    if (sample->stack_size)
        memcpy(stack, sample->stack, sample->stack_size);
    if (sample->tail_size)
        memcpy(stack + sample->stack_size, sample->tail, sample->tail_size);
    copy->sample.kernel_chain = copy->data;
    copy->sample.stack = stack;
    copy->sample.tail = stack + sample->stack_size;
    *pending->end = copy;
    pending->end = &copy->next;
    pending->bytes += bytes;
    pending->rest_bytes += sample->tail_size;
    pending->count++;
    if (pending->bytes > pending->most_bytes)
        pending->most_bytes = pending->bytes;
    return 0;
}

int record_pending_retry(struct record_pending *pending,
                         int (*retry)(void *, const struct record_pending_sample *), void *context)
{
    struct record_pending_sample **link = &pending->first;
    while (*link) {
        struct record_pending_sample *sample = *link;
        const int result = retry(context, sample);
        if (result < 0)
            return result;
        if (result > 0) {
            link = &sample->next;
            continue;
        }
        *link = sample->next;
        if (!*link)
            pending->end = link;
        pending->bytes -= sample->bytes;
        pending->rest_bytes -= sample->sample.tail_size;
        pending->count--;
        free(sample);
    }
    return 0;
}
