/* Takes what agents copied of stacks that are deeper than their slices. */
#include "sampler/agent/rests.h"

#include <stdlib.h>
#include <string.h>

/* In a sample: behind header, identifier, ip, tid, time and cpu. */
enum { REST_AT = 44 };

bool sigprof_rests_take(struct sigprof_rests *rests, struct agent_shared *shared,
                        const struct perf_event_header *sample)
{
    uint32_t number;
    rests->size = 0;
    memcpy(&number, (const uint8_t *)sample + REST_AT, sizeof number);
    if (!number || number > AGENT_RESTS)
        return false;
    struct agent_rest *rest = &shared->control.rest[number - 1];
    const uint64_t address = rest->address, bytes = rest->bytes;
    if (!rests->bytes)
        rests->bytes = malloc(AGENT_REST_BYTES);
    if (rests->bytes && bytes <= AGENT_REST_BYTES) {
        const uint8_t *copied = (const uint8_t *)shared + agent_rest_offset(number - 1);
        memcpy(rests->bytes, copied, (size_t)bytes);
        rests->address = address;
        rests->size = (size_t)bytes;
    }
    atomic_store_explicit(&rest->taken, 0, memory_order_release);
    return rests->size > 0;
}

bool sigprof_rests_provide(void *self, const struct sampler_stack *stack, size_t ring,
                           uint64_t offset, struct sampler_stack_tail *tail)
{
    (void)ring;
    (void)offset;
    const struct sigprof_rests *rests = self;
    if (!rests->size || rests->address != stack->pointer + stack->captured)
        return false;
    *tail = (struct sampler_stack_tail){
        .bytes = rests->bytes, .address = rests->address, .size = rests->size, .with_sample = true};
    return true;
}

void sigprof_rests_release(struct sigprof_rests *rests)
{
    free(rests->bytes);
    *rests = (struct sigprof_rests){0};
}
