/* Stacks deeper than their slices, captured in the kernel at the moment of the sample by the
 * program on the sampling events (filter_bpf.h): it copies what follows the slice, up to where the
 * thread's stack is known to end, into a ring of its own, right before the kernel writes the
 * sample. Of threads that are known to switch stacks it copies the other stack instead, where the
 * frame pointer leads to one. */
#ifndef SPROF_SAMPLER_REST_BPF_H
#define SPROF_SAMPLER_REST_BPF_H

#include "sampler/decode.h"
#include "sampler/filter_bpf.h"

struct rest_bpf {
    int wake_fd; /* readable where the ring was more than half full when a tail came; -1: closed */
    void *consumer_page;
    const uint8_t *producer_page; /* NULL: not mapped yet; then the ring's bytes, twice in a row */
    size_t ring_bytes;
    uint64_t consumed;
    int ring_fd; /* the filter's */
    const struct sampling_counts *counts;
};

#define REST_BPF_NONE ((struct rest_bpf){.wake_fd = -1})

/* What was captured for a sample. */
struct rest_bytes {
    const uint8_t *bytes; /* in the ring */
    uint64_t address;
    size_t size;
};

/* Opens what the filter's program captures; its ring is mapped when it holds something. Close it
 * before the filter. Returns 0 or a negative errno: -ENOENT where the program does not capture. */
int rest_bpf_open(struct rest_bpf *rest, const struct filter_bpf *filter);

/* Takes a wake-up that was seen at wake_fd. */
void rest_bpf_take_wake(const struct rest_bpf *rest);

void rest_bpf_close(struct rest_bpf *rest);

/* Tails for which the ring had no room. */
uint64_t rest_bpf_dropped(const struct rest_bpf *rest);

/* Finds what was captured right before a sample. It stays until rest_bpf_drop. */
bool rest_bpf_find(const struct rest_bpf *rest, const struct sampler_stack *stack,
                   struct rest_bytes *found);

/* Gives back to the kernel what belongs to samples from before `time_ns`. */
void rest_bpf_drop(struct rest_bpf *rest, uint64_t time_ns);

#endif
