/* Limits the memory for figures. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_MEMORY_H
#define SPROF_CALLS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct calls_program;

struct calls_memory {
    bool no_histograms;
    bool is_spare;            /* calls that need new pages are only counted */
    uint64_t *beyond;         /* by probe: such calls in rows; or NULL */
    bool has_reported_shared; /* that threads share data */
};

struct calls_memory_sums {
    uint64_t most_bytes;       /* highest seen */
    uint64_t no_histograms_ns; /* when percentiles were dropped; 0: never */
    uint64_t beyond_calls;     /* without room */
    uint32_t beyond_functions;
};

/* Drops percentiles, then figures of functions new to a thread. */
int calls_memory_serve(struct calls_program *program);

/* == beyond.c == */

/* Allocates counters for calls without room. */
int calls_beyond_begin(struct calls_program *program);

/* Adds these calls to the shared row. */
int calls_beyond_collect(struct calls_program *program);

void calls_beyond_clear(struct calls_program *program);

#endif
