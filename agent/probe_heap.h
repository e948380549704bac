/* The heap check of the tracing agent: what it and the tracer agree on. Functions of allocators
 * have probes that say what they do; while a call of a checked function is open in a thread, the
 * bytes that the thread allocates and frees are added up, as the allocator counts them. */
#ifndef SPROF_AGENT_PROBE_HEAP_H
#define SPROF_AGENT_PROBE_HEAP_H

#include "agent/probe_window.h"

#include <stdatomic.h>
#include <stdint.h>

/* What a function of an allocator does. */
enum probe_heap_operation {
    PROBE_HEAP_NONE,
    PROBE_HEAP_ALLOCATE,   /* returns a block, or NULL */
    PROBE_HEAP_PUT,        /* as posix_memalign: puts it where its first argument leads; 0: did */
    PROBE_HEAP_REALLOCATE, /* as realloc: takes a block, returns another */
    PROBE_HEAP_FREE,       /* takes a block, or NULL */
};

enum {
    PROBE_HEAP_FUNCTIONS = 262144, /* PROBE_THUNKS */
    PROBE_HEAP_THREADS = 4096,     /* PROBE_SLABS */
    PROBE_HEAP_ALLOCATORS = 8,
    PROBE_HEAP_OPERATION = 15, /* of a byte of `operations`: which … */
    PROBE_HEAP_SHIFT = 4,      /* … and from this bit on, of which allocator */
    PROBE_HEAP_CALLS = 64,     /* open calls of checked functions; those inside are not checked */
    PROBE_HEAP_WATCHED = 1 << 16,
};

/* A block of glibc's that a checked call has allocated, and nobody has freed. Each has one place;
 * where another one takes that it is not watched any more. */
struct probe_heap_block {
    _Atomic uint64_t key;                /* of its address and process; 0: none */
    _Atomic uint64_t header;             /* part of the key, and of what stands before the block */
    _Atomic uint32_t function, reserved; /* that was called */
};

/* An open call of a checked function. */
struct probe_heap_call {
    uint64_t slot;  /* where its return address stands */
    uint64_t bytes; /* allocated less freed before it, and so on */
    uint32_t allocations, frees, function, epoch;
};

/* What a thread has; the agent's own. */
struct probe_heap_thread {
    uint32_t serial, open; /* of the thread that it is of; calls */
    uint64_t bytes;        /* allocated less freed, while calls were open */
    uint32_t allocations, frees;
    /* The allocator's function that runs: where its return address stands, its first argument, what
     * its block had, whether it may free by returning NULL. 0: none. */
    uint64_t slot, argument, old_bytes;
    uint32_t function, frees_all;
    uint64_t told; /* a block of which it has been said that its header is broken */
    struct probe_heap_call calls[PROBE_HEAP_CALLS];
};

struct probe_heap {
    /* The tracer's. */
    uint64_t usable[PROBE_HEAP_ALLOCATORS]; /* malloc_usable_size; 0: glibc's headers are read */
    _Atomic uint32_t epoch; /* another one: probes of allocators were switched; 0: no check */
    uint32_t reserved;
    uint8_t operations[PROBE_HEAP_FUNCTIONS];      /* by function; see above */
    _Atomic uint64_t limits[PROBE_HEAP_FUNCTIONS]; /* by function: bytes that a call may leave, + 1;
                                                      0: it is not checked */
    /* The agent's. */
    struct probe_heap_block watched[PROBE_HEAP_WATCHED];
    struct probe_heap_thread threads[PROBE_HEAP_THREADS]; /* by slab */
};

#endif
