/* A thread's log of calls. The tracing agent, inside the program, writes it; sprof reads it. */
#ifndef SPROF_AGENT_PROBE_RING_H
#define SPROF_AGENT_PROBE_RING_H

#include <stdatomic.h>
#include <stdint.h>

/* Units follow, and a spare one. A beginning takes two units, an end one. Positions count from the
 * log's beginning; the index is position % units. A beginning's second unit follows the first even
 * at the end, and its own position stays empty. Room is taken before it is filled, as signal
 * handlers may come between; headers hold positions to reveal unfilled units. */
struct probe_ring {
    uint64_t head; /* agent: next position */
    uint64_t padding[7];
    _Atomic uint64_t tail; /* tracer: first unread */
};

/* Four more arguments are in the second unit. */
struct probe_log_begin {
    uint64_t header, begin; /* ticks */
    uint64_t arguments[2];
};

struct probe_log_end {
    uint64_t header, begin;
    uint64_t ticks, self; /* duration; self time as in the figures, and PROBE_LOG_APART */
};
/* The call's coroutine was suspended meanwhile. */
#define PROBE_LOG_APART (UINT64_C(1) << 63)

enum {
    PROBE_UNIT_BYTES = 32,
    PROBE_ARGUMENTS = 6, /* rdi, rsi, rdx, rcx, r8, r9 */
    PROBE_LOG_BEGIN = 1,
    PROBE_LOG_END = 2,
    PROBE_LOG_ONLY = 3, /* a beginning without a visible end */
    PROBE_LOG_DEPTH_MAX = (1 << 21) - 1,
    /* Where rules keep calls, too (agent/probe/log.h): */
    PROBE_LOG_DEPTH_BESIDE = (1 << 16) - 1, /* deeper calls have no room in the log */
    PROBE_LOG_BESIDE = 1 << 20,             /* flag of the depth: an entry of the log */
    PROBE_LOG_NOBODY = (1 << 18) - 1,       /* no function */
    PROBE_LOG_DEPTH_AT = 18,                /* in a header */
    PROBE_RING_HEADER = 128,
    PROBE_RING_REST = 9 * 4096, /* bytes besides units */
};

enum probe_exit {
    PROBE_EXIT_RETURN,
    PROBE_EXIT_TAIL, /* with the function that it jumped to */
    PROBE_EXIT_EXCEPTION,
    PROBE_EXIT_LONGJMP,
    PROBE_EXIT_LEFT,       /* its stack was reused */
    PROBE_EXIT_THREAD_END, /* pthread_exit or cancellation, by longjmp */
    PROBE_EXIT_TAIL_CUT,   /* too many would be open: agent/probe/end.c */
};

/* From bit 0: 18 bits function, 21 depth, 3 exit, 2 kind, 20 position. */
static inline uint64_t probe_log_header(uint64_t position, uint32_t kind, uint32_t exit,
                                        uint32_t depth, uint32_t function)
{
    return position << 44 | (uint64_t)kind << 42 | (uint64_t)exit << 39 |
           (uint64_t)depth << PROBE_LOG_DEPTH_AT | function;
}
#define PROBE_LOG_FUNCTION(header) ((uint32_t)(header)&0x3ffff)
#define PROBE_LOG_DEPTH(header) ((uint32_t)((header) >> PROBE_LOG_DEPTH_AT) & 0x1fffff)
#define PROBE_LOG_IS_BESIDE(header) (PROBE_LOG_DEPTH(header) & PROBE_LOG_BESIDE)
#define PROBE_LOG_EXIT(header) ((uint32_t)((header) >> 39) & 7)
#define PROBE_LOG_KIND(header) ((uint32_t)((header) >> 42) & 3)
#define PROBE_LOG_IS_AT(header, position) ((header) >> 44 == ((position)&0xfffff))

static inline uint64_t probe_ring_bytes(uint32_t slab)
{
    return slab < 16 ? UINT64_C(4) << 20 : slab < 64 ? UINT64_C(1) << 20 : UINT64_C(64) << 10;
}

static inline uint64_t probe_ring_units(uint32_t slab)
{
    return probe_ring_bytes(slab) / PROBE_UNIT_BYTES;
}

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
