/* Stacks that go on beyond the slices of their samples: one interface over the providers of what
 * follows. Providers are called in order: what was captured at the moment of the sample comes first
 * (perf/stack_tail_bpf.h), then what was copied when its record was seen (stack_tail_copies.h).
 * The walk reads the rest from the living process (target_read_memory). */
#ifndef SPROF_SAMPLER_STACK_TAIL_H
#define SPROF_SAMPLER_STACK_TAIL_H

#include "sampler/decode.h"
#include "sampler/stack_ends.h"

/* Bytes of a stack, from an address upwards. They may overlap the slice. */
struct sampler_stack_tail {
    const uint8_t *bytes;
    uint64_t address;
    size_t size;
    bool with_sample; /* captured at the moment of the sample */
};

/* Finds the tail of a sample, whose record lies at `offset` of ring `ring`, and gives up what
 * belongs to earlier records of that ring. What was found stays until the next call. */
typedef bool sampler_stack_tail_finder(void *self, const struct sampler_stack *stack, size_t ring,
                                       uint64_t offset, struct sampler_stack_tail *tail);

/* Zero is valid: no providers, and no end is known. */
enum { SAMPLER_STACK_TAIL_PROVIDERS = 4 };
struct sampler_stack_tails {
    struct {
        sampler_stack_tail_finder *find;
        void *self;
    } providers[SAMPLER_STACK_TAIL_PROVIDERS];
    size_t count;
    struct stack_ends ends;
};

/* Adds a provider, behind those there are. */
void sampler_stack_tails_add(struct sampler_stack_tails *tails, sampler_stack_tail_finder *find,
                             void *self);

/* Finds the tail of a sample and puts it into the sample. Every provider is called, for each gives
 * up what is behind; the first that has it wins. */
bool sampler_stack_tails_find(const struct sampler_stack_tails *tails,
                              const struct sampler_stack *stack, size_t ring, uint64_t offset,
                              struct model_sample *sample);

/* A walk has shown where the stack of a thread ends, as sampler_stack_end takes it; the slice ended
 * at `slice_end`. */
void sampler_stack_tails_learn(struct sampler_stack_tails *tails, pid_t tid, uint64_t stack_pointer,
                               uint64_t slice_end, struct model_stack_extent extent);

/* The thread has a new stack, or is gone. */
void sampler_stack_tails_forget(struct sampler_stack_tails *tails, pid_t tid);

#endif
