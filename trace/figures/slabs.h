/* trace, inside: the parts of the memory that sprof and the agent share. */
#ifndef SPROF_TRACE_FIGURES_SLABS_H
#define SPROF_TRACE_FIGURES_SLABS_H

#include "agent/probe.h"

#include <stdbool.h>

struct trace_session;

/* How many slabs may be in use. */
uint32_t trace_slab_count(const struct trace_session *session);

/* Offset in the shared memory. */
uint64_t trace_slab_offset(const struct trace_session *session, uint32_t slab);

/* The figures of a slab, by function; and the offset of its call paths. */
struct probe_stat *trace_slab_stats(const struct trace_session *session, uint32_t slab);
uint64_t trace_slab_nodes_offset(const struct trace_session *session, uint32_t slab);

/* The next pages from `at` on and before `end` that were written to, from *first to *behind. False:
 * there are none. Reading elsewhere would make pages of zeros. */
bool trace_next_pages(const struct trace_session *session, uint64_t at, uint64_t end,
                      uint64_t *first, uint64_t *behind);

/* The pages of a slab are gone, or may be made again. */
void trace_slab_forget_pages(struct trace_session *session, uint32_t slab);

#endif
