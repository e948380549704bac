/* counters: the parts of the shared memory. Each thread has a slab there: figures by function,
 * histograms, and nodes of call paths. Pages exist where the agent has written. Reading elsewhere
 * would make pages of zeros, so readers walk over the existing ones. */
#ifndef SPROF_COUNTERS_PAGES_H
#define SPROF_COUNTERS_PAGES_H

#include "agent/probe.h"

#include <stdbool.h>

struct counters_pages {
    struct probe_shared *shared; /* mapped; borrowed */
    int memory_fd;               /* of that memory; borrowed */
    uint32_t slabs, functions;   /* for which it has room */
};

/* == Slabs == */

/* How many slabs were ever taken: at most `slabs`. */
uint32_t counters_slab_count(const struct counters_pages *pages);

/* The number of the thread that holds a slab; 0: none. */
uint32_t counters_slab_holder(const struct counters_pages *pages, uint32_t slab);

/* The name that the thread of a slab gave itself, which outlives it; empty: none. */
void counters_slab_name(const struct counters_pages *pages, uint32_t slab, char name[16]);

/* The same for a thread by its numbers, as the agent has them. */
void counters_thread_name(const struct counters_pages *pages, uint32_t pid, uint32_t tid,
                          char name[16]);

/* Offsets in the shared memory. */
uint64_t counters_slab_offset(const struct counters_pages *pages, uint32_t slab);
uint64_t counters_nodes_offset(const struct counters_pages *pages, uint32_t slab);

/* The figures of a slab, by function. */
struct probe_stat *counters_slab_stats(const struct counters_pages *pages, uint32_t slab);

/* Puts the call that ended last into its bucket: the thread has ended, and the next one takes the
 * slab as it is. */
void counters_slab_settle(const struct counters_pages *pages, uint32_t slab);

/* Removes the pages of a slab. */
void counters_slab_empty(const struct counters_pages *pages, uint32_t slab);

/* Lets the next thread have a slab. */
void counters_slab_free(const struct counters_pages *pages, uint32_t slab);

/* == Pages == */

/* The next pages from `at` on and before `end` that were written to, from *first to *behind. False:
 * there are none. */
bool counters_next_pages(const struct counters_pages *pages, uint64_t at, uint64_t end,
                         uint64_t *first, uint64_t *behind);

/* Notes for the agent which pages of all slabs exist (see PROBE_SPARE); and that those of a slab
 * are gone, or may be made again. */
void counters_pages_note(const struct counters_pages *pages);
void counters_slab_forget_pages(const struct counters_pages *pages, uint32_t slab);

/* Removes the pages of all histograms. Calls that end now may write to such a page once more. */
void counters_histograms_empty(const struct counters_pages *pages);

/* == Walks == */

/* A walk over those entries of an array that stand on existing pages. */
struct counters_walk {
    const struct counters_pages *pages;
    uint64_t begin, end, at, behind; /* offsets of the array, the next entry, the end of pages */
    uint32_t index;                  /* of the entry */
    void *entry;                     /* struct probe_stat or struct probe_node */
    uint32_t bytes;                  /* of an entry */
};

/* Over the figures of the first `functions`, or over the nodes, of a slab. */
struct counters_walk counters_walk_stats(const struct counters_pages *pages, uint32_t slab,
                                         size_t functions);
struct counters_walk counters_walk_nodes(const struct counters_pages *pages, uint32_t slab);

/* False: there are no more. */
bool counters_walk_next(struct counters_walk *walk);

#endif
