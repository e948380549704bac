/* The tracing agent's heap check: bytes that checked calls leave allocated. */
#ifndef SPROF_AGENT_PROBE_INSIDE_HEAP_H
#define SPROF_AGENT_PROBE_INSIDE_HEAP_H

#include "agent/probe/thread.h"

/* An allocator function begins. True: its exit must be seen. */
bool probe_heap_enters(struct thread *thread, uint32_t function, uint64_t slot,
                       const struct probe_saved *saved)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* The call at `slot` returned `result`. */
void probe_heap_leaves(struct thread *thread, uint64_t slot, uint64_t result)
    __attribute__((visibility("hidden"))) SAVES_ALL;

/* `has_jumped`: the slot's previous call continues. */
void probe_heap_begin(struct thread *thread, uint32_t function, uint64_t slot, bool has_jumped)
    __attribute__((visibility("hidden"))) SAVES_ALL;
void probe_heap_end(struct thread *thread, uint32_t function, uint64_t slot, bool is_outermost)
    __attribute__((visibility("hidden"))) SAVES_ALL;

static inline bool probe_heap_is_checked(uint32_t function)
{
    return atomic_load_explicit(&probe_inside.shared->heap.limits[function],
                                memory_order_relaxed) != 0;
}

#endif
