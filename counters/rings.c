/* Reads rings of logged and kept calls, and of warnings. */
#include "counters/rings.h"

#include <fcntl.h>

enum { UNIT_WORDS = PROBE_UNIT_BYTES / sizeof(uint64_t) };

static uint64_t ring_offset(const struct counters_pages *pages, uint32_t slab)
{
    return counters_slab_offset(pages, pages->slabs) + probe_ring_offset(slab);
}

struct counters_ring counters_ring_of(const struct counters_pages *pages, uint32_t slab)
{
    uint8_t *at = (uint8_t *)pages->shared + ring_offset(pages, slab);
    return (struct counters_ring){(struct probe_ring *)at, (uint64_t *)(at + PROBE_RING_HEADER),
                                  probe_ring_units(slab)};
}

uint64_t counters_ring_head(const struct counters_ring *ring)
{
    return __atomic_load_n(&ring->ring->head, __ATOMIC_ACQUIRE);
}

uint64_t counters_ring_tail(const struct counters_ring *ring, uint64_t head)
{
    const uint64_t tail = atomic_load(&ring->ring->tail);
    return head - tail > ring->units ? head : tail;
}

void counters_ring_read(const struct counters_ring *ring, uint64_t position)
{
    atomic_store_explicit(&ring->ring->tail, position, memory_order_release);
}

uint64_t *counters_ring_unit(const struct counters_ring *ring, uint64_t position)
{
    return ring->words + position % ring->units * UNIT_WORDS;
}

uint32_t counters_ring_entry(const struct counters_ring *ring, uint64_t position, uint64_t head,
                             bool keeps, uint64_t *header)
{
    *header = __atomic_load_n(counters_ring_unit(ring, position), __ATOMIC_ACQUIRE);
    const uint32_t kind = PROBE_LOG_KIND(*header);
    const uint32_t units = keeps ? probe_kept_units(*header) : kind == PROBE_LOG_END ? 1 : 2;
    const bool is_entry = kind && PROBE_LOG_IS_AT(*header, position) && head - position >= units &&
                          units <= PROBE_KEPT_UNITS + PROBE_VALUED_UNITS;
    return is_entry ? units : 0;
}

uint64_t counters_ring_used(const struct counters_pages *pages, uint32_t slab)
{
    const struct counters_ring ring = counters_ring_of(pages, slab);
    const uint64_t written = ring.ring->head;
    return written < ring.units ? PROBE_RING_HEADER + written * PROBE_UNIT_BYTES
                                : PROBE_RING_REST + probe_ring_bytes(slab);
}

void counters_ring_empty(const struct counters_pages *pages, uint32_t slab)
{
    fallocate(pages->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)ring_offset(pages, slab), (off_t)(PROBE_RING_REST + probe_ring_bytes(slab)));
}

bool counters_next_warning(struct probe_warnings *warnings, uint64_t head,
                           struct probe_warning *warning)
{
    uint64_t position = atomic_load(&warnings->tail);
    if (head - position > PROBE_WARNINGS) /* only the program can have written that */
        atomic_store(&warnings->tail, position = head);
    const struct probe_warning *from = &warnings->items[position % PROBE_WARNINGS];
    if (position == head || atomic_load(&from->place) != position + 1)
        return false;
    *warning = *from;
    atomic_store(&warnings->tail, position + 1);
    return true;
}
