/* Finds the parts of the shared memory: the figures and paths of a slab, and the pages that exist.
 */
#include "trace/figures/slabs.h"
#include "trace/tracing.h"

#include <unistd.h>

uint32_t trace_slab_count(const struct trace_session *session)
{
    const uint32_t used = atomic_load(&session->process.shared->slabs_used);
    return used < session->slab_count ? used : session->slab_count;
}

uint64_t trace_slab_offset(const struct trace_session *session, uint32_t slab)
{
    return PROBE_SHARED_BYTES + slab * probe_slab_bytes(session->capacity);
}

uint64_t trace_slab_nodes_offset(const struct trace_session *session, uint32_t slab)
{
    return trace_slab_offset(session, slab) + probe_stats_bytes(session->capacity) +
           probe_histograms_bytes(session->capacity);
}

struct probe_stat *trace_slab_stats(const struct trace_session *session, uint32_t slab)
{
    return (struct probe_stat *)((uint8_t *)session->process.shared +
                                 trace_slab_offset(session, slab));
}

bool trace_next_pages(const struct trace_session *session, uint64_t at, uint64_t end,
                      uint64_t *first, uint64_t *behind)
{
    const off_t data = at < end ? lseek(session->process.memory_fd, (off_t)at, SEEK_DATA) : -1;
    if (data < 0 || (uint64_t)data >= end)
        return false;
    const off_t hole = lseek(session->process.memory_fd, data, SEEK_HOLE);
    *first = (uint64_t)data;
    *behind = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
    return true;
}

void trace_slab_forget_pages(struct trace_session *session, uint32_t slab)
{
    struct probe_shared *shared = session->process.shared;
    for (size_t i = 0; i < PROBE_STAT_PAGES / 8; i++)
        if (atomic_load(&shared->stat_pages[slab][i]))
            atomic_store(&shared->stat_pages[slab][i], 0);
    for (size_t i = 0; i < PROBE_NODE_PAGES / 8; i++)
        if (atomic_load(&shared->node_pages[slab][i]))
            atomic_store(&shared->node_pages[slab][i], 0);
}
