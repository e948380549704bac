/* How the tracing agent logs calls for its tracer: the rings of threads, and their units. */
#ifndef SPROF_AGENT_PROBE_RING_H
#define SPROF_AGENT_PROBE_RING_H

#include <stdatomic.h>
#include <stdint.h>

/* A thread's ring: head and tail, then units, then room for one more. A beginning takes two units,
 * an end one. Places count from the beginning of the log; a unit is at `place mod units`. The
 * second unit of a beginning is always right behind the first, also at the end of the ring, and its
 * own place stays empty. The agent takes room first and fills it later, because a signal handler
 * may come between. The header holds the unit's place, so a unit that is not filled yet is
 * recognized. */
struct probe_ring {
    uint64_t head; /* the agent's: place of the next unit */
    uint64_t padding[7];
    _Atomic uint64_t tail; /* the tracer's: place of the first that it has not read */
};

/* The first unit of a beginning. The second one holds the other four arguments. */
struct probe_log_begin {
    uint64_t header, begin; /* ticks */
    uint64_t arguments[2];
};

struct probe_log_end {
    uint64_t header, begin; /* `begin` as in the beginning */
    uint64_t ticks, self;   /* duration; self time as in the figures, and PROBE_LOG_APART */
};
/* The call's coroutine was suspended meanwhile: its thread did something else then. */
#define PROBE_LOG_APART (UINT64_C(1) << 63)

enum {
    PROBE_UNIT_BYTES = 32,
    PROBE_ARGUMENTS = 6, /* rdi, rsi, rdx, rcx, r8, r9 at the entry */
    PROBE_LOG_BEGIN = 1, /* kinds of units */
    PROBE_LOG_END = 2,
    PROBE_LOG_ONLY = 3, /* a beginning whose end cannot be seen */
    PROBE_LOG_DEPTH_MAX = (1 << 21) - 1,
    PROBE_LOG_NOBODY = (1 << 18) - 1, /* a number of no function: the end of nothing */
    PROBE_RING_HEADER = 128,
    PROBE_RING_REST = 6 * 4096, /* of a ring's memory, beside its places */
};

/* How a call ended. */
enum probe_exit {
    PROBE_EXIT_RETURN,
    PROBE_EXIT_TAIL,      /* together with the function that it jumped to at its end */
    PROBE_EXIT_EXCEPTION, /* an exception was caught above it */
    PROBE_EXIT_LONGJMP,
    PROBE_EXIT_LEFT,       /* its stack was used again */
    PROBE_EXIT_THREAD_END, /* by pthread_exit or cancellation, which end in a longjmp */
    PROBE_EXIT_TAIL_CUT,   /* at such a jump, where too many would be open: see agent/probe/end.c */
};

/* Header: 18 bits of function, 21 of depth, 3 of exit, 2 of kind, 20 of place. */
static inline uint64_t probe_log_header(uint64_t place, uint32_t kind, uint32_t exit,
                                        uint32_t depth, uint32_t function)
{
    return place << 44 | (uint64_t)kind << 42 | (uint64_t)exit << 39 | (uint64_t)depth << 18 |
           function;
}
#define PROBE_LOG_FUNCTION(header) ((uint32_t)(header)&0x3ffff)
#define PROBE_LOG_DEPTH(header) ((uint32_t)((header) >> 18) & 0x1fffff)
#define PROBE_LOG_EXIT(header) ((uint32_t)((header) >> 39) & 7)
#define PROBE_LOG_KIND(header) ((uint32_t)((header) >> 42) & 3)
#define PROBE_LOG_IS_AT(header, place) ((header) >> 44 == ((place)&0xfffff))

/* Rings of later slabs are smaller: 4 MiB, 1 MiB, 64 KiB. */
static inline uint64_t probe_ring_bytes(uint32_t slab)
{
    return slab < 16 ? UINT64_C(4) << 20 : slab < 64 ? UINT64_C(1) << 20 : UINT64_C(64) << 10;
}

static inline uint64_t probe_ring_units(uint32_t slab)
{
    return probe_ring_bytes(slab) / PROBE_UNIT_BYTES;
}

/* From the first ring on. */
static inline uint64_t probe_ring_offset(uint32_t slab)
{
    const uint64_t large = slab < 16 ? slab : 16,
                   middle = slab < 16   ? 0
                            : slab < 64 ? slab - 16
                                        : 48,
                   small = slab < 64 ? 0 : slab - 64;
    return large * (PROBE_RING_REST + probe_ring_bytes(0)) +
           middle * (PROBE_RING_REST + probe_ring_bytes(16)) +
           small * (PROBE_RING_REST + probe_ring_bytes(64));
}

#endif
