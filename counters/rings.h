/* counters: rings in the shared memory. Each thread has one of logged or kept calls, behind all
 * slabs; all threads have one of warnings. */
#ifndef SPROF_COUNTERS_RINGS_H
#define SPROF_COUNTERS_RINGS_H

#include "counters/pages.h"

/* A thread's ring. */
struct counters_ring {
    struct probe_ring *ring;
    uint64_t *words; /* of its units: four each */
    uint64_t units;
};

struct counters_ring counters_ring_of(const struct counters_pages *pages, uint32_t slab);

/* The position of the next unit. */
uint64_t counters_ring_head(const struct counters_ring *ring);

/* The position of the first unit before `head` that was not read. Where more units stand between
 * them than a ring has, which only the program can have written, it is `head`. */
uint64_t counters_ring_tail(const struct counters_ring *ring, uint64_t head);

/* Notes that units before a position were read, so the agent may write there. */
void counters_ring_read(const struct counters_ring *ring, uint64_t position);

/* The words of the unit at a position. */
uint64_t *counters_ring_unit(const struct counters_ring *ring, uint64_t position);

/* How many units the entry at a position takes, `keeps` where the ring has kept calls. 0: it is not
 * filled, or is no entry. Its header is at *header. */
uint32_t counters_ring_entry(const struct counters_ring *ring, uint64_t position, uint64_t head,
                             bool keeps, uint64_t *header);

/* Bytes of memory that the ring of a slab uses. */
uint64_t counters_ring_used(const struct counters_pages *pages, uint32_t slab);

/* Removes the pages of the ring of a slab. */
void counters_ring_empty(const struct counters_pages *pages, uint32_t slab);

/* Takes the next warning before position `head`. False: there is none, or it is being written. */
bool counters_next_warning(struct probe_warnings *warnings, uint64_t head,
                           struct probe_warning *warning);

#endif
