/* This process as the target: its mappings, tables of its images, captured stacks of its threads.
 */
#ifndef SPROF_TESTS_UNWIND_OWN_PROCESS_H
#define SPROF_TESTS_UNWIND_OWN_PROCESS_H

#include "tests/unit/unwind/process_space.h"

enum { OWN_STACK = 4 << 20, OWN_PEER_FRAMES = 256 };

struct own_process {
    struct process_space process;
    struct unwind_walker *walker;
};

void own_process_init(struct own_process *own);
void own_process_release(struct own_process *own);

/* A stack captured from the inside, and what libunwind finds from the same place. */
struct own_capture {
    struct unwind_registers registers;
    uint8_t *bytes; /* OWN_STACK of room */
    size_t size;
    uint64_t peer[OWN_PEER_FRAMES]; /* from the caller of own_capture_take on */
    size_t peer_count;
};

void own_capture_init(struct own_capture *capture);
void own_capture_release(struct own_capture *capture);

/* Captures the calling thread's registers and up to `bytes` of its stack. */
void own_capture_take(struct own_capture *capture, size_t bytes);

/* Walks a capture; `live`: with memory->read reaching this process. */
struct unwind_stack own_process_walk(struct own_process *own, const struct own_capture *capture,
                                     bool live);

/* Whether the stack, from the caller of own_capture_take on, has the frames libunwind found. */
bool own_capture_agrees(const struct own_capture *capture, const struct unwind_stack *stack);

#endif
