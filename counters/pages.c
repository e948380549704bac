/* Finds the parts of the shared memory, and the pages of it that exist. */
#include "counters/pages.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* == Slabs == */

uint32_t counters_slab_count(const struct counters_pages *pages)
{
    const uint32_t used = atomic_load(&pages->shared->slabs_used);
    const uint32_t most = pages->slabs < PROBE_SLABS ? pages->slabs : PROBE_SLABS;
    return used < most ? used : most;
}

uint32_t counters_slab_holder(const struct counters_pages *pages, uint32_t slab)
{
    const struct probe_slab *held = &pages->shared->slabs[slab];
    const uint32_t tid = atomic_load(&held->tid);
    return atomic_load(&held->state) == PROBE_SLAB_TAKEN ? tid : 0;
}

void counters_slab_name(const struct counters_pages *pages, uint32_t slab, char name[16])
{
    const _Atomic uint64_t *from = pages->shared->names[slab];
    const uint64_t words[] = {atomic_load(&from[0]), atomic_load(&from[1])};
    memcpy(name, words, sizeof words);
    name[15] = '\0';
}

void counters_thread_name(const struct counters_pages *pages, uint32_t pid, uint32_t tid,
                          char name[16])
{
    const uint32_t count = counters_slab_count(pages);
    *name = '\0';
    for (uint32_t i = 0; i < count && !*name; i++)
        if (atomic_load(&pages->shared->slabs[i].tid) == tid &&
            atomic_load(&pages->shared->slabs[i].pid) == pid)
            counters_slab_name(pages, i, name);
}

uint64_t counters_slab_offset(const struct counters_pages *pages, uint32_t slab)
{
    return PROBE_SHARED_BYTES + slab * probe_slab_bytes(pages->functions);
}

uint64_t counters_nodes_offset(const struct counters_pages *pages, uint32_t slab)
{
    return counters_slab_offset(pages, slab) + probe_stats_bytes(pages->functions) +
           probe_histograms_bytes(pages->functions);
}

struct probe_stat *counters_slab_stats(const struct counters_pages *pages, uint32_t slab)
{
    return (struct probe_stat *)((uint8_t *)pages->shared + counters_slab_offset(pages, slab));
}

void counters_slab_settle(const struct counters_pages *pages, uint32_t slab)
{
    struct probe_stat *stats = counters_slab_stats(pages, slab);
    const uint64_t all = probe_stats_bytes(pages->functions);
    const uint64_t pending = stats[pages->functions].pending;
    if (pending >= all + sizeof(struct probe_histogram) && pending % sizeof(uint32_t) == 0 &&
        pending < all + probe_histograms_bytes(pages->functions))
        ++*(uint32_t *)((uint8_t *)stats + pending);
    stats[pages->functions].pending = all;
}

static void remove_pages(const struct counters_pages *pages, uint64_t offset, uint64_t bytes)
{
    fallocate(pages->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
              (off_t)bytes);
}

void counters_slab_empty(const struct counters_pages *pages, uint32_t slab)
{
    remove_pages(pages, counters_slab_offset(pages, slab), probe_slab_bytes(pages->functions));
}

void counters_slab_free(const struct counters_pages *pages, uint32_t slab)
{
    struct probe_shared *shared = pages->shared;
    atomic_store(&shared->names[slab][0], 0);
    atomic_store(&shared->names[slab][1], 0);
    atomic_store(&shared->slabs[slab].tid, 0);
    atomic_store(&shared->slabs[slab].state, PROBE_SLAB_FREE);
}

/* == Pages == */

bool counters_next_pages(const struct counters_pages *pages, uint64_t at, uint64_t end,
                         uint64_t *first, uint64_t *behind)
{
    const off_t data = at < end ? lseek(pages->memory_fd, (off_t)at, SEEK_DATA) : -1;
    if (data < 0 || (uint64_t)data >= end)
        return false;
    const off_t hole = lseek(pages->memory_fd, data, SEEK_HOLE);
    *first = (uint64_t)data;
    *behind = hole < 0 || (uint64_t)hole > end ? end : (uint64_t)hole;
    return true;
}

/* Sets the bits of the existing pages of a part of the shared memory. */
static void note_part(const struct counters_pages *pages, uint64_t begin, uint64_t bytes,
                      _Atomic uint8_t *bits)
{
    uint64_t first, behind = begin;
    while (counters_next_pages(pages, behind, begin + bytes, &first, &behind))
        for (uint64_t page = (first - begin) / PROBE_PAGE;
             page < (behind - begin + PROBE_PAGE - 1) / PROBE_PAGE; page++)
            atomic_fetch_or(&bits[page / 8], (uint8_t)(1u << page % 8));
}

void counters_pages_note(const struct counters_pages *pages)
{
    const uint32_t count = counters_slab_count(pages);
    for (uint32_t i = 0; i < count; i++) {
        note_part(pages, counters_slab_offset(pages, i), probe_stats_bytes(pages->functions),
                  pages->shared->pages.stats[i]);
        note_part(pages, counters_nodes_offset(pages, i), PROBE_NODES * sizeof(struct probe_node),
                  pages->shared->pages.nodes[i]);
    }
}

/* A byte that is zero is not written, which would make its page. */
static void clear_bits(_Atomic uint8_t *bits, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (atomic_load(&bits[i]))
            atomic_store(&bits[i], 0);
}

void counters_slab_forget_pages(const struct counters_pages *pages, uint32_t slab)
{
    clear_bits(pages->shared->pages.stats[slab], PROBE_STAT_PAGES / 8);
    clear_bits(pages->shared->pages.nodes[slab], PROBE_NODE_PAGES / 8);
}

void counters_histograms_empty(const struct counters_pages *pages)
{
    const uint32_t count = counters_slab_count(pages);
    for (uint32_t i = 0; i < count; i++)
        remove_pages(pages, counters_slab_offset(pages, i) + probe_stats_bytes(pages->functions),
                     probe_histograms_bytes(pages->functions));
}

/* == Walks == */

static struct counters_walk walk_over(const struct counters_pages *pages, uint64_t begin,
                                      uint64_t count, uint32_t bytes)
{
    return (struct counters_walk){.pages = pages,
                                  .begin = begin,
                                  .end = begin + count * bytes,
                                  .at = begin,
                                  .behind = begin,
                                  .bytes = bytes};
}

struct counters_walk counters_walk_stats(const struct counters_pages *pages, uint32_t slab,
                                         size_t functions)
{
    return walk_over(pages, counters_slab_offset(pages, slab), functions,
                     sizeof(struct probe_stat));
}

struct counters_walk counters_walk_nodes(const struct counters_pages *pages, uint32_t slab)
{
    return walk_over(pages, counters_nodes_offset(pages, slab), PROBE_NODES,
                     sizeof(struct probe_node));
}

/* Arrays begin on a page, and entries divide pages, so none stands on two. */
bool counters_walk_next(struct counters_walk *walk)
{
    if (walk->at >= walk->behind &&
        !counters_next_pages(walk->pages, walk->behind, walk->end, &walk->at, &walk->behind))
        return false;
    walk->index = (uint32_t)((walk->at - walk->begin) / walk->bytes);
    walk->entry = (uint8_t *)walk->pages->shared + walk->at;
    walk->at += walk->bytes;
    return true;
}
