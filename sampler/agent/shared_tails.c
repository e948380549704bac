/* Takes what agents copied of stacks that are deeper than their slices. */
#include "sampler/agent/shared_tails.h"

#include <stdlib.h>
#include <string.h>

/* In a sample: behind header, identifier, ip, tid, time and cpu. */
enum { TAIL_AT = 44 };

bool sigprof_tails_take(struct sigprof_tails *tails, struct agent_shared *shared,
                        const struct perf_event_header *sample)
{
    uint32_t number;
    tails->size = 0;
    memcpy(&number, (const uint8_t *)sample + TAIL_AT, sizeof number);
    if (!number || number > AGENT_TAILS)
        return false;
    struct agent_tail *tail = &shared->control.tail[number - 1];
    /* The command may write them meanwhile: what is checked is what is used. */
    const uint64_t address = __atomic_load_n(&tail->address, __ATOMIC_RELAXED);
    const uint64_t bytes = __atomic_load_n(&tail->bytes, __ATOMIC_RELAXED);
    if (!tails->bytes)
        tails->bytes = malloc(AGENT_TAIL_BYTES);
    if (tails->bytes && bytes <= AGENT_TAIL_BYTES) {
        const uint8_t *copied = (const uint8_t *)shared + agent_tail_offset(number - 1);
        memcpy(tails->bytes, copied, (size_t)bytes);
        tails->address = address;
        tails->size = (size_t)bytes;
    }
    atomic_store_explicit(&tail->taken, 0, memory_order_release);
    return tails->size > 0;
}

bool sigprof_tails_provide(void *self, const struct sampler_stack *stack, size_t ring,
                           uint64_t offset, struct sampler_stack_tail *tail)
{
    (void)ring;
    (void)offset;
    const struct sigprof_tails *tails = self;
    if (!tails->size || tails->address != stack->pointer + stack->captured)
        return false;
    *tail = (struct sampler_stack_tail){
        .bytes = tails->bytes, .address = tails->address, .size = tails->size, .with_sample = true};
    return true;
}

void sigprof_tails_release(struct sigprof_tails *tails)
{
    free(tails->bytes);
    *tails = (struct sigprof_tails){0};
}
