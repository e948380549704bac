/* What the agent and the tracer agree on for the heap check and for bytes by function. Functions of
 * allocators have probes. While a call of a checked function is open in a thread, the agent adds up
 * the bytes that the thread allocates and frees, as the allocator counts them. For figures it adds
 * the bytes of each request that succeeds to the functions whose calls are open. */
#ifndef SPROF_AGENT_PROBE_HEAP_H
#define SPROF_AGENT_PROBE_HEAP_H

#include "agent/probe_window.h"

#include <stdatomic.h>
#include <stdint.h>

/* What a function of an allocator does. */
enum probe_heap_operation {
    PROBE_HEAP_NONE,
    PROBE_HEAP_ALLOCATE, /* takes a size, and returns a block, or NULL */
    PROBE_HEAP_PUT, /* as posix_memalign: stores a block through its first argument and returns 0 */
    PROBE_HEAP_REALLOCATE,     /* as realloc: takes a block and a size, and returns another block */
    PROBE_HEAP_FREE,           /* takes a block, or NULL */
    PROBE_HEAP_ALLOCATE_ARRAY, /* as calloc: takes a count and a size */
    PROBE_HEAP_ALLOCATE_ALIGNED, /* as aligned_alloc: takes the size second */
    PROBE_HEAP_REALLOCATE_ARRAY, /* as reallocarray: takes a block, a count and a size */
};

enum {
    PROBE_HEAP_FUNCTIONS = 262144, /* PROBE_THUNKS */
    PROBE_HEAP_THREADS = 4096,     /* PROBE_SLABS */
    PROBE_HEAP_ALLOCATORS = 8,
    PROBE_HEAP_OPERATION = 15, /* bits of a byte of `operations`: the operation */
    PROBE_HEAP_SHIFT = 4,      /* from this bit on: the allocator */
    PROBE_HEAP_CALLS = 64,     /* open calls of checked functions; further ones are not checked */
    PROBE_HEAP_WATCHED = 1 << 16,
    PROBE_HEAP_STRIPES = 4,
};

/* What calls of a function have allocated. `blocks` and `self_bytes` are of calls whose function
 * was the innermost one with a probe; `total_bytes` has those of calls below, too. */
struct probe_heap_use {
    _Atomic uint64_t blocks, self_bytes, total_bytes;
};

/* Functions that the last allocation of a thread has met in the chain of open calls: a hash table.
 * Entries with another number are free, so none is cleared. */
enum { PROBE_HEAP_MET = 512 };
struct probe_heap_met {
    uint64_t number;                 /* of the allocation, from 1 */
    uint64_t places[PROBE_HEAP_MET]; /* the number << 18 | function */
};

/* A block of glibc's that a checked call has allocated and that is not freed yet. Each block has
 * one place. A block whose place another one takes is not watched any more. */
struct probe_heap_block {
    _Atomic uint64_t key;                /* of its address and process; 0: none */
    _Atomic uint64_t header;             /* a part of the key, and of the word before the block */
    _Atomic uint32_t function, reserved; /* the checked one */
};

/* An open call of a checked function. */
struct probe_heap_call {
    uint64_t slot;  /* of its return address */
    uint64_t bytes; /* allocated less freed, when it began */
    uint32_t allocations, frees, function, epoch;
};

/* Data of a thread, written by the agent alone. */
struct probe_heap_thread {
    uint32_t serial, open; /* serial: the thread it belongs to; open: calls */
    uint64_t bytes;        /* allocated less freed while calls were open */
    uint32_t allocations, frees;
    /* The allocator's function that runs, whose slot is `allocator_slot` of the thread: its first
     * argument, the bytes of that block before, and those that were requested. */
    uint64_t argument, old_bytes, requested;
    uint32_t function, frees_all;
    uint64_t reported; /* a block whose broken header was reported */
    struct probe_heap_call calls[PROBE_HEAP_CALLS];
};

struct probe_heap {
    /* Written by the tracer. */
    uint64_t usable[PROBE_HEAP_ALLOCATORS]; /* by allocator; 0: glibc's headers are read */
    _Atomic uint32_t epoch; /* changes when probes of allocators are switched; 0: no probes */
    uint32_t are_checked;   /* whether there are limits below */
    uint8_t operations[PROBE_HEAP_FUNCTIONS];      /* by function; see above */
    _Atomic uint64_t limits[PROBE_HEAP_FUNCTIONS]; /* by function: bytes that a call may leave + 1;
                                                      0: not checked */
    /* Written by the agent. */
    struct probe_heap_block watched[PROBE_HEAP_WATCHED];
    struct probe_heap_thread threads[PROBE_HEAP_THREADS]; /* by slab */
};

#endif
