/* trace, inside: the bound of memory for figures. */
#ifndef SPROF_TRACE_FIGURES_MEMORY_H
#define SPROF_TRACE_FIGURES_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct trace_session;

/* The bound of memory for figures. */
struct trace_memory {
    bool no_histograms;       /* they are given up */
    bool is_spare;            /* calls that need another page are only counted */
    uint64_t *beyond;         /* by probe: such calls that are in rows; NULL: none */
    bool has_reported_shared; /* it was reported that threads share their data with others */
};

/* Memory for figures, of all programs. */
struct trace_memory_sums {
    uint64_t most_bytes; /* as far as seen */
    uint64_t
        no_histograms_ns;  /* time in the run when percentiles were given up; 0: they are kept */
    uint64_t beyond_calls; /* calls without room of their own */
    uint32_t beyond_functions;
};

/* Holds the figures of all programs below their bound: gives up percentiles, then figures of
 * functions that threads have not called yet. Returns 0 or SPROF_ENOMEM. */
int trace_memory_serve(struct trace_session *session);

/* == beyond.c == */

/* Makes room for calls without room of their own. Returns 0 or SPROF_ENOMEM. */
int trace_beyond_begin(struct trace_session *session);

/* Adds them to the row that threads share. Returns 0 or SPROF_ENOMEM. */
int trace_beyond_collect(struct trace_session *session);

/* Drops them. */
void trace_beyond_clear(struct trace_session *session);

#endif
