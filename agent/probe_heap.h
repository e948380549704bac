/* The heap check and bytes by function, shared by the tracing agent in the program and sprof. In
 * calls of checked functions the agent counts what the thread allocates and frees, in the
 * allocator's sizes. For figures it counts successful requests' bytes in the functions of open
 * calls. */
#ifndef SPROF_AGENT_PROBE_HEAP_H
#define SPROF_AGENT_PROBE_HEAP_H

#include "agent/probe_window.h"

#include <stdatomic.h>
#include <stdint.h>

/* What an allocator's function does. */
enum probe_heap_operation {
    PROBE_HEAP_NONE,
    PROBE_HEAP_ALLOCATE,         /* size → block */
    PROBE_HEAP_PUT,              /* posix_memalign: stores the block, returns 0 */
    PROBE_HEAP_REALLOCATE,       /* block, size → block */
    PROBE_HEAP_FREE,             /* block */
    PROBE_HEAP_ALLOCATE_ARRAY,   /* calloc: count, size */
    PROBE_HEAP_ALLOCATE_ALIGNED, /* aligned_alloc: alignment, size */
    PROBE_HEAP_REALLOCATE_ARRAY, /* reallocarray: block, count, size */
};

enum {
    PROBE_HEAP_FUNCTIONS = 262144, /* PROBE_THUNKS */
    PROBE_HEAP_THREADS = 4096,     /* PROBE_SLABS */
    PROBE_HEAP_ALLOCATORS = 8,
    PROBE_HEAP_OPERATION = 15, /* bits in `operations` */
    PROBE_HEAP_SHIFT = 4,      /* the allocator is above */
    PROBE_HEAP_CALLS = 64,     /* open calls; more are unchecked */
    PROBE_HEAP_WATCHED = 1 << 16,
    PROBE_HEAP_STRIPES = 4,
};

/* As the innermost probed function; `total_bytes`: with callees. */
struct probe_heap_use {
    _Atomic uint64_t blocks, self_bytes, total_bytes;
};

/* Functions that a thread's last allocation met in the chain of open calls: a hash table. Entries
 * with another number count as free, so none is cleared. */
enum { PROBE_HEAP_MET = 512 };
struct probe_heap_met {
    uint64_t number;                  /* of the allocation, from 1 */
    uint64_t entries[PROBE_HEAP_MET]; /* the number << 18 | function */
};

/* A glibc block allocated by a checked call and not freed. Each block has one position; a later
 * block there replaces it. */
struct probe_heap_block {
    _Atomic uint64_t key;                /* address and process; 0: none */
    _Atomic uint64_t header;             /* part of the key, and of the word before the block */
    _Atomic uint32_t function, reserved; /* function: the checked one */
};

struct probe_heap_call {
    uint64_t slot;  /* of the return address */
    uint64_t bytes; /* allocated minus freed, at entry */
    uint32_t allocations, frees, function, epoch;
};

/* The agent's. */
struct probe_heap_thread {
    uint32_t serial, open; /* of the thread; number of calls */
    uint64_t bytes;        /* allocated minus freed during calls */
    uint32_t allocations, frees;
    /* Of the current call: first argument, that block's previous bytes, requested bytes. */
    uint64_t argument, old_bytes, requested;
    uint32_t function, frees_all;
    uint64_t reported; /* a block with a broken header */
    struct probe_heap_call calls[PROBE_HEAP_CALLS];
};

struct probe_heap {
    /* Tracer: */
    uint64_t usable[PROBE_HEAP_ALLOCATORS]; /* malloc_usable_size's address; 0: glibc's headers */
    _Atomic uint32_t epoch;                 /* changes with allocators' probes; 0: no probes */
    uint32_t are_checked;                   /* any limits below */
    uint8_t operations[PROBE_HEAP_FUNCTIONS];
    _Atomic uint64_t limits[PROBE_HEAP_FUNCTIONS]; /* bytes a call may keep, + 1; 0: unchecked */
    /* Agent: */
    struct probe_heap_block watched[PROBE_HEAP_WATCHED];
    struct probe_heap_thread threads[PROBE_HEAP_THREADS];
};

#endif
