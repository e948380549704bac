/* Where the stacks of threads end, as far as that is known: a slot for each thread, in memory that
 * the kernel's program shares where there is one (sampler/bpf/sampling.h). */
#ifndef SPROF_SAMPLER_STACK_ENDS_H
#define SPROF_SAMPLER_STACK_ENDS_H

#include "sampler/bpf/sampling.h"
#include "sampler/decode.h"

struct stack_ends {
    struct sampling_stack *slots; /* NULL: closed; nothing is known */
    bool shared;
};

/* map_fd: of the program's map; -1: memory of our own. Returns 0 or a negative errno. */
int sampler_stack_ends_open(struct stack_ends *ends, int map_fd);
void sampler_stack_ends_close(struct stack_ends *ends);

/* What is known of the stack that a stack pointer of the thread is on, or NULL. */
const struct sampling_stack *sampler_stack_ends_find(const struct stack_ends *ends, pid_t tid,
                                                     uint64_t stack_pointer);

/* The mapping that a stack pointer of the thread is in. */
void sampler_stack_ends_set_mapping(struct stack_ends *ends, pid_t tid, uint64_t low, uint64_t end);

/* What a walk has shown, as sampler_stack_end takes it; the slice ended at `slice_end`. */
void sampler_stack_ends_learn(struct stack_ends *ends, pid_t tid, uint64_t stack_pointer,
                              uint64_t slice_end, struct model_stack_extent found);

/* The thread has a new stack, or is gone. */
void sampler_stack_ends_forget(struct stack_ends *ends, pid_t tid);

/* How many bytes above the slice of a sample are worth copying, at most `most`; *known says whether
 * its stack is. */
size_t sampler_stack_ends_beyond(const struct stack_ends *ends, const struct sampler_stack *stack,
                                 size_t most, bool *known);

#endif
