/* Stacks deeper than their slices, captured in the kernel at the moment of the sample by the
 * program on the sampling events (filter_bpf.h): it copies what follows the slice, up to where the
 * thread's stack is known to end, into a ring of its own, right before the kernel writes the
 * sample. Of threads that are known to switch stacks it copies the other stack instead, where the
 * frame pointer leads to one. */
#ifndef SPROF_SAMPLER_PERF_STACK_TAIL_BPF_H
#define SPROF_SAMPLER_PERF_STACK_TAIL_BPF_H

#include "sampler/perf/filter_bpf.h"
#include "sampler/stack_tail.h"

struct perf_stack_tail_bpf {
    int wake_fd; /* readable where the ring was more than half full when a tail came; -1: closed */
    void *consumer_page;
    const uint8_t *producer_page; /* NULL: not mapped yet; then the ring's bytes, twice in a row */
    size_t ring_bytes;
    uint64_t consumed;
    uint64_t apart_ns; /* from the sample's time to its tail's, at most */
    int ring_fd;       /* the filter's */
    const struct sampling_counts *counts;
};

#define PERF_STACK_TAIL_BPF_NONE ((struct perf_stack_tail_bpf){.wake_fd = -1})

/* Opens what the filter's program captures; its ring is mapped when it holds something. A tail lies
 * within `apart_ns` of its sample, that is less than another sample does. Close it before the
 * filter. Returns 0 or a negative errno: -ENOENT where the program does not capture. */
int perf_stack_tail_bpf_open(struct perf_stack_tail_bpf *tails,
                             const struct perf_filter_bpf *filter, uint64_t apart_ns);

/* Takes a wake-up that was seen at wake_fd. */
void perf_stack_tail_bpf_take_wake(const struct perf_stack_tail_bpf *tails);

void perf_stack_tail_bpf_close(struct perf_stack_tail_bpf *tails);

/* Tails for which the ring had no room. */
uint64_t perf_stack_tail_bpf_dropped(const struct perf_stack_tail_bpf *tails);

/* Finds what was captured right before a sample. It stays until perf_stack_tail_bpf_drop. */
bool perf_stack_tail_bpf_find(const struct perf_stack_tail_bpf *tails,
                              const struct sampler_stack *stack, struct sampler_stack_tail *found);

/* What was captured of the calls in flight where a tracer has an agent in the process; returns how
 * many. They stay until perf_stack_tail_bpf_drop. */
size_t perf_stack_tail_bpf_calls(const struct perf_stack_tail_bpf *tails,
                                 const struct sampler_stack *stack,
                                 const struct model_open_call **calls);

/* Where the thread was in the program, where its registers speak of a place at which the kernel
 * steps a uprobe's instruction instead; 0: they are right. */
uint64_t perf_stack_tail_bpf_place(const struct perf_stack_tail_bpf *tails,
                                   const struct sampler_stack *stack);

/* Gives back to the kernel what belongs to samples from before `time_ns`. */
void perf_stack_tail_bpf_drop(struct perf_stack_tail_bpf *tails, uint64_t time_ns);

/* The same as a provider of sampler/stack_tail.h; self: the struct. */
bool perf_stack_tail_bpf_provide(void *self, const struct sampler_stack *stack, size_t ring,
                                 uint64_t offset, struct sampler_stack_tail *tail);

#endif
