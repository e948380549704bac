/* Stacks deeper than their slices: catching what follows before it changes. */
#include "sampler/session.h"

/* How long after a stack deeper than its slice the next ones are expected. */
static const uint64_t deep_ns = 200000000;

/* A slice is empty where the sample fell into the first use of a page of the stack; all above it is
 * there. */
static bool goes_on(const struct decode_stack *stack)
{
    return stack->captured == stack->asked || !stack->captured;
}

static void copy_new(struct sampler *sampler, size_t index)
{
    struct ring *ring = &sampler->merge.rings.items[index];
    uint64_t offset = ring->scanned > ring->tail ? ring->scanned : ring->tail;
    const struct perf_event_header *header;
    for (; (header = ring_header(ring, offset)); offset += header->size) {
        struct decode_stack stack;
        if (decode_peek_stack(&sampler->plan.layout, ring, offset, &stack) && goes_on(&stack) &&
            targets_know(&sampler->targets, stack.pid, stack.tid))
            rests_copy(&sampler->rests, index, offset, &stack);
    }
    ring->scanned = ring->head;
}

void session_copy_rests(struct sampler *sampler)
{
    if (!sampler->plan.layout.has_stack)
        return;
    rests_drop_taken(&sampler->rests);
    for (size_t i = 0; i < sampler->merge.rings.count; i++)
        copy_new(sampler, i);
}

void session_attach_rest(struct sampler *sampler, size_t ring, uint64_t offset)
{
    struct sampler_sample *sample = &sampler->record.sample;
    const struct rest *rest = rests_take(&sampler->rests, ring, offset);
    if (!rest)
        return;
    sample->rest = sampler->rests.bytes + rest->start;
    sample->rest_size = rest->size;
    sample->rest_address = rest->address;
    sampler->counts.rests++;
}

void session_expect_deep(struct sampler *sampler)
{
    const struct sampler_record *record = &sampler->record;
    sampler->deep_until_ns = record->time_ns + deep_ns;
    /* What was captured with the sample does not change any more. */
    if (!record->sample.rest_exact)
        sampler->listen_until_ns = record->time_ns + deep_ns;
}

void sampler_stack_end(struct sampler *sampler, pid_t tid, uint64_t address)
{
    rests_learn_end(&sampler->rests, tid, address);
}
