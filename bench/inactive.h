/*
 * Requests of bench/trace_inactive to its servers, and their answers. Times are in ticks of the
 * processor's counter.
 */
#ifndef BENCH_INACTIVE_H
#define BENCH_INACTIVE_H

#include <stdint.h>

enum {
    LINES = 8,                 /* connections */
    WARM = 64,                 /* requests at the start of a slice that do not count */
    MOST_REQUESTS = 1 << 14,   /* of a slice */
    LARGEST_REQUEST = 1 << 14, /* bytes */
    MORE_PARTS = 1 << 16
};

/* A slice of the load. The work of each of its requests follows, uint32_t each. */
struct slice {
    uint32_t requests, size;
    uint32_t more;      /* MORE_PARTS of rounds that each request has more to do */
    uint32_t more_each; /* and each of its looks */
    uint64_t each;      /* from one request to the next; 0: at once */
    uint64_t warm; /* the same of those that do not count: nothing waits behind them any more */
};

/* The answer to a slice. The response times of its requests follow, uint32_t each. */
struct slice_done {
    uint64_t took, busy; /* busy: while there was something to do */
};

static inline uint64_t ticks(void)
{
    return __builtin_ia32_rdtsc();
}

#endif
