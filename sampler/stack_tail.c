/* Calls the providers that may have what follows the slice of a sample. */
#include "sampler/stack_tail.h"

#include <assert.h>

void sampler_stack_tails_add(struct sampler_stack_tails *tails, sampler_stack_tail_finder *find,
                             void *self)
{
    assert(tails->count < SAMPLER_STACK_TAIL_PROVIDERS);
    tails->providers[tails->count].find = find;
    tails->providers[tails->count++].self = self;
}

bool sampler_stack_tails_find(const struct sampler_stack_tails *tails,
                              const struct sampler_stack *stack, size_t ring, uint64_t offset,
                              struct model_sample *sample)
{
    bool found = false;
    for (size_t i = 0; i < tails->count; i++) {
        struct sampler_stack_tail tail = {0};
        if (!tails->providers[i].find(tails->providers[i].self, stack, ring, offset, &tail) ||
            found)
            continue;
        found = true;
        sample->tail = tail.bytes;
        sample->tail_size = tail.size;
        sample->tail_address = tail.address;
        sample->tail_with_sample = tail.with_sample;
    }
    return found;
}

void sampler_stack_tails_learn(struct sampler_stack_tails *tails, pid_t tid, uint64_t stack_pointer,
                               uint64_t slice_end, struct model_stack_extent extent)
{
    sampler_stack_ends_learn(&tails->ends, tid, stack_pointer, slice_end, extent);
}

void sampler_stack_tails_forget(struct sampler_stack_tails *tails, pid_t tid)
{
    sampler_stack_ends_forget(&tails->ends, tid);
}
