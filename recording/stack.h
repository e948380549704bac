/* The memory of one sample's stack: its slice, what else was captured of it, and the live target's;
 * and the code that its return addresses lead to. */
#ifndef SPROF_RECORDING_STACK_H
#define SPROF_RECORDING_STACK_H

#include "recording/spaces.h"

struct recording_stack {
    pid_t pid;
    const struct model_sample *sample;
    const struct unwind_space *space; /* of recording/spaces.h; NULL: nothing is known of code */
};

/* The `read` of struct unwind_memory, for what lies beyond the slice; `context` is a struct
 * recording_stack. What was captured goes before what the target has there now. Code is read from
 * the target, which may have changed it, and from its file where the target has ended or become
 * another program. */
int recording_stack_read(void *context, uint64_t address, void *buffer, size_t size);

/* Where the walk of a sample's stack has shown that it ends. */
struct model_stack_extent recording_stack_extent(const struct model_sample *sample,
                                                 const struct unwind_stack *stack);

/* Where a walk ended before the root: the return addresses that follow its last one in the chain of
 * frame pointers that begins with the sample's, innermost first, as far as the chain was captured:
 * at most `most`. None where that address is not in the chain, or more than once. The kernel would
 * give the same chain, but that costs every sample 1 µs and 0.1 µs a frame (m); this costs
 * nothing until a walk has failed. */
size_t recording_stack_callers(const struct model_sample *sample, const struct unwind_stack *stack,
                               uint64_t *callers, size_t most);

#endif
