/* Stacks deeper than their slices, which agents copied into the memory they share: a provider of
 * sampler/stack_tail.h. */
#ifndef SPROF_SAMPLER_AGENT_SHARED_TAILS_H
#define SPROF_SAMPLER_AGENT_SHARED_TAILS_H

#include "agent/agent.h"
#include "sampler/stack_tail.h"

#include <linux/perf_event.h>

/* The copy of the tail taken last. Zero is valid: none, and no memory until the first. */
struct sigprof_tails {
    uint8_t *bytes; /* AGENT_TAIL_BYTES */
    uint64_t address;
    size_t size;
};

/* Copies the tail that belongs to a sample in perf's format, and frees it for the agent. False: the
 * sample has none, or it makes no sense. */
bool sigprof_tails_take(struct sigprof_tails *tails, struct agent_shared *shared,
                        const struct perf_event_header *sample);

/* A sampler_stack_tail_finder for the sample whose tail was taken last; self: the struct. */
bool sigprof_tails_provide(void *self, const struct sampler_stack *stack, size_t ring,
                           uint64_t offset, struct sampler_stack_tail *tail);

void sigprof_tails_release(struct sigprof_tails *tails);

#endif
