/* The names of events a user may ask for. */
#ifndef SPROF_SAMPLER_PERF_EVENT_NAMES_H
#define SPROF_SAMPLER_PERF_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_name {
    const char *name;
    uint32_t type;     /* PERF_TYPE_… */
    uint64_t config;   /* PERF_COUNT_… */
    bool is_clock;     /* counts nanoseconds of CPU time */
    bool is_of_kernel; /* it happens in the kernel alone */
};

/* The event of a name, or NULL. */
const struct perf_event_name *perf_event_name_find(const char *name);

/* Whether a name is of a counter of the processor that the table does not have: a raw one, "r" and
 * its number in hexadecimal ("r1a8"), or one of a cache, as perf calls it
 * ("L1-dcache-load-misses", "LLC-stores"). Sets its type and configuration. */
bool perf_event_counter_find(const char *name, uint32_t *type, uint64_t *config);

/* Hands out the names of cache events, until `put` returns non-zero, which is returned. */
int perf_event_counter_each(int (*put)(void *context, const char *name), void *context);

/* The event at an index, or NULL behind the last. */
const struct perf_event_name *perf_event_name_at(size_t index);

/* Writes "cpu-clock, task-clock, …" into the buffer, cut where it is too small. */
void perf_event_name_list(char *buffer, size_t size);

#endif
