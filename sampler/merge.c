/* Merges rings by the times of their records. */
#include "sampler/merge.h"

#include "sampler/decode.h"

#include <stdlib.h>

static int grow_arrays(struct sampler_merge *merge)
{
    const size_t count = merge->rings.capacity;
    void *heap = realloc(merge->heap, count * sizeof *merge->heap);
    merge->heap = heap ? heap : merge->heap;
    void *queued = realloc(merge->queued, count * sizeof *merge->queued);
    merge->queued = queued ? queued : merge->queued;
    void *last_ns = realloc(merge->last_ns, count * sizeof *merge->last_ns);
    merge->last_ns = last_ns ? last_ns : merge->last_ns;
    return heap && queued && last_ns ? 0 : SPROF_ENOMEM;
}

int sampler_merge_add(struct sampler_merge *merge, const struct sampler_ring *ring)
{
    if (sprof_vec_push(&merge->rings, *ring)) {
        struct sampler_ring closed = *ring;
        sampler_ring_close(&closed);
        return SPROF_ENOMEM;
    }
    if (grow_arrays(merge)) {
        sampler_ring_close(&merge->rings.items[--merge->rings.count]);
        return SPROF_ENOMEM;
    }
    merge->queued[merge->rings.count - 1] = false;
    merge->last_ns[merge->rings.count - 1] = 0;
    return 0;
}

void sampler_merge_publish(struct sampler_merge *merge)
{
    for (size_t i = 0; i < merge->rings.count; i++)
        sampler_ring_publish(&merge->rings.items[i]);
}

static void sift_down(struct sampler_merge *merge)
{
    struct merge_entry *heap = merge->heap;
    for (size_t i = 0, child; (child = 2 * i + 1) < merge->heap_count; i = child) {
        if (child + 1 < merge->heap_count && heap[child + 1].time_ns < heap[child].time_ns)
            child++;
        if (heap[i].time_ns <= heap[child].time_ns)
            break;
        const struct merge_entry entry = heap[i];
        heap[i] = heap[child];
        heap[child] = entry;
    }
}

static void sift_up(struct sampler_merge *merge, size_t i)
{
    struct merge_entry *heap = merge->heap;
    for (; i && heap[i].time_ns < heap[(i - 1) / 2].time_ns; i = (i - 1) / 2) {
        const struct merge_entry entry = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = entry;
    }
}

/* A record that interrupted the writing of another one may be older than the one before it: within
 * a ring the order of writing counts. */
static uint64_t first_time_ns(struct sampler_merge *merge, size_t index)
{
    const struct sampler_ring *ring = &merge->rings.items[index];
    const uint64_t last_ns = merge->last_ns[index];
    const uint64_t time_ns = sampler_decode_time_ns(ring, ring->tail, last_ns);
    return merge->last_ns[index] = time_ns > last_ns ? time_ns : last_ns;
}

bool sampler_merge_refresh(struct sampler_merge *merge)
{
    bool moved = false;
    for (size_t i = 0; i < merge->rings.count; i++) {
        struct sampler_ring *ring = &merge->rings.items[i];
        moved |= sampler_ring_refresh(ring);
        if (merge->queued[i] || ring->head == ring->tail)
            continue;
        merge->queued[i] = true;
        merge->heap[merge->heap_count] = (struct merge_entry){first_time_ns(merge, i), i};
        sift_up(merge, merge->heap_count++);
    }
    return moved;
}

struct sampler_ring *sampler_merge_first(const struct sampler_merge *merge, uint64_t *time_ns)
{
    if (!merge->heap_count)
        return NULL;
    *time_ns = merge->heap->time_ns;
    return &merge->rings.items[merge->heap->ring];
}

void sampler_merge_advance(struct sampler_merge *merge, size_t size)
{
    const size_t index = merge->heap->ring;
    struct sampler_ring *ring = &merge->rings.items[index];
    ring->tail += size;
    if (ring->tail == ring->head) {
        merge->queued[index] = false;
        merge->heap[0] = merge->heap[--merge->heap_count];
    } else {
        merge->heap[0].time_ns = first_time_ns(merge, index);
    }
    sift_down(merge);
}

void sampler_merge_skip_ring(struct sampler_merge *merge)
{
    const struct sampler_ring *ring = &merge->rings.items[merge->heap->ring];
    sampler_merge_advance(merge, (size_t)(ring->head - ring->tail));
}

void sampler_merge_release(struct sampler_merge *merge)
{
    for (size_t i = 0; i < merge->rings.count; i++)
        sampler_ring_close(&merge->rings.items[i]);
    sprof_vec_release(&merge->rings);
    free(merge->heap);
    free(merge->queued);
    free(merge->last_ns);
    *merge = (struct sampler_merge){0};
}
