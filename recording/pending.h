/* Samples that wait for a table: copied out of the ring, in order, within a bound of memory. */
#ifndef SPROF_RECORDING_PENDING_H
#define SPROF_RECORDING_PENDING_H

#include "model/model.h"
#include "sampler/sampler.h"

/* A sample with a copy of everything its pointers reached. */
struct record_pending_sample {
    struct record_pending_sample *next;
    struct model_sample sample;
    struct model_process *process;
    struct model_thread *thread;
    uint64_t time_ns;
    int cpu;
    size_t bytes;
    uint64_t data[]; /* kernel chain, then the stack's slice, then its rest */
};

struct record_pending {
    struct record_pending_sample *first, **end;
    size_t bytes, count, most_bytes;
    size_t rest_bytes; /* beside `bytes`: what follows slices */
};

void record_pending_init(struct record_pending *pending);
void record_pending_release(struct record_pending *pending);

/* Copies a sample to the end; what follows its slice only within a bound of its own, 8 MiB.
 * Returns 0 or SPROF_ENOMEM. */
int record_pending_add(struct record_pending *pending, const struct model_record *record,
                       struct model_process *process, struct model_thread *thread);

/* Calls `retry` for each in order; it returns 0 when the sample is done with, 1 to keep it waiting,
 * or a negative code, which ends the round and is returned. */
int record_pending_retry(struct record_pending *pending,
                         int (*retry)(void *, const struct record_pending_sample *), void *context);

#endif
