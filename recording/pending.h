/* Samples that wait for a table: copied out of the ring, in order, within a bound of memory. The
 * stacks of a thread's samples share what they have in common. */
#ifndef SPROF_RECORDING_PENDING_H
#define SPROF_RECORDING_PENDING_H

#include "model/model.h"
#include "recording/stack_pages.h"

/* A sample with a copy of everything its pointers reached. Those to its stack and tail are valid
 * while it is retried. */
struct recording_pending_sample {
    struct recording_pending_sample *next;
    struct model_sample sample;
    struct model_process *process;
    struct model_thread *thread;
    uint32_t event;
    uint64_t time_ns;
    int cpu;
    struct stack_copy *stack, *tail; /* NULL: none */
    uint64_t kernel_chain[];
};

struct recording_pending {
    struct recording_pending_sample *first, **end;
    size_t bytes, count, most_bytes;
    uint64_t dropped_tails; /* for want of memory */
    uint8_t *buffer;        /* for the stack and the tail of the sample that is retried */
    size_t buffer_bytes;
};

void recording_pending_init(struct recording_pending *pending);
void recording_pending_release(struct recording_pending *pending);

/* Copies a sample of a thread, whose `waiting` is ours, to the end, with all that its pointers
 * reach; without its tail, which is counted, where much memory is held already. Returns 0 or
 * SPROF_ENOMEM. */
int recording_pending_add(struct recording_pending *pending,
                          const struct recording_pending_sample *taken);

/* Calls `retry` for each in order; it returns 0 when the sample is done with, 1 to keep it waiting,
 * or a negative code, which ends the round and is returned. */
int recording_pending_retry(struct recording_pending *pending,
                            int (*retry)(void *, const struct recording_pending_sample *),
                            void *context);

#endif
