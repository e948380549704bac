#include "sampler/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int ring_open(struct ring *ring, int fd, size_t size)
{
    void *base = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    *ring =
        (struct ring){.fd = fd, .base = base, .data = (uint8_t *)base + page_size(), .size = size};
    return 0;
}

void ring_close(struct ring *ring)
{
    if (!ring->base)
        return;
    munmap(ring->base, page_size() + ring->size);
    close(ring->fd);
    *ring = (struct ring){.fd = -1};
}

bool ring_refresh(struct ring *ring)
{
    const struct perf_event_mmap_page *page = ring->base;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    const bool moved = head != ring->head;
    /* More than the ring holds, or a head that went back, cannot be: then nothing is readable. */
    ring->head = head - ring->tail <= ring->size ? head : ring->tail;
    return moved;
}

void ring_publish(struct ring *ring)
{
    if (ring->published == ring->tail)
        return;
    struct perf_event_mmap_page *page = ring->base;
    __atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE);
    ring->published = ring->tail;
}

/* Copies bytes that may go on at the ring's beginning. */
static void copy(const struct ring *ring, uint64_t offset, void *buffer, size_t size)
{
    const size_t start = (size_t)offset & (ring->size - 1), first = ring->size - start;
    if (size <= first) {
        memcpy(buffer, ring->data + start, size);
        return;
    }
    memcpy(buffer, ring->data + start, first);
    memcpy((uint8_t *)buffer + first, ring->data, size - first);
}

bool ring_header(const struct ring *ring, uint64_t offset, struct perf_event_header *header)
{
    const uint64_t left = ring->head - offset;
    if (left < sizeof *header)
        return false;
    copy(ring, offset, header, sizeof *header);
    return header->size >= sizeof *header && header->size <= left;
}

uint64_t ring_word(const struct ring *ring, uint64_t offset)
{
    uint64_t word;
    copy(ring, offset, &word, sizeof word);
    return word;
}

const struct perf_event_header *ring_record(const struct ring *ring, uint64_t offset, void *buffer,
                                            bool *copied)
{
    const size_t start = (size_t)offset & (ring->size - 1);
    struct perf_event_header header;
    copy(ring, offset, &header, sizeof header);
    *copied = header.size > ring->size - start || start % 8;
    if (!*copied)
        return (const void *)&ring->data[start];
    copy(ring, offset, buffer, header.size);
    return buffer;
}
