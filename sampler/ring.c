/* Reads a ring that another writes. */
#include "sampler/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct sampler_ring sampler_ring_of(const uint8_t *data, size_t size, const uint64_t *written,
                                    uint64_t *read)
{
    return (struct sampler_ring){
        .data = data, .size = size, .written = written, .read = read, .fd = -1};
}

int sampler_ring_open(struct sampler_ring *ring, int fd, size_t size)
{
    void *base = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    struct perf_event_mmap_page *page = base;
    *ring = sampler_ring_of((uint8_t *)base + page_size(), size, (void *)&page->data_head,
                            (void *)&page->data_tail);
    ring->fd = fd;
    ring->mapping = base;
    ring->mapping_size = page_size() + size;
    return 0;
}

void sampler_ring_close(struct sampler_ring *ring)
{
    if (ring->mapping)
        munmap(ring->mapping, ring->mapping_size);
    if (ring->fd >= 0 && ring->data)
        close(ring->fd);
    *ring = (struct sampler_ring){.fd = -1};
}

bool sampler_ring_refresh(struct sampler_ring *ring)
{
    const uint64_t head = __atomic_load_n(ring->written, __ATOMIC_ACQUIRE);
    const bool moved = head != ring->head;
    /* More than the ring holds, or a head that went back, cannot be: then nothing is readable. */
    ring->head = head - ring->tail <= ring->size ? head : ring->tail;
    return moved;
}

void sampler_ring_publish(struct sampler_ring *ring)
{
    if (ring->published == ring->tail)
        return;
    __atomic_store_n(ring->read, ring->tail, __ATOMIC_RELEASE);
    ring->published = ring->tail;
}

/* Copies bytes that may go on at the ring's beginning. */
static void copy(const struct sampler_ring *ring, uint64_t offset, void *buffer, size_t size)
{
    const size_t start = (size_t)offset & (ring->size - 1), first = ring->size - start;
    if (size <= first) {
        memcpy(buffer, ring->data + start, size);
        return;
    }
    memcpy(buffer, ring->data + start, first);
    memcpy((uint8_t *)buffer + first, ring->data, size - first);
}

bool sampler_ring_header(const struct sampler_ring *ring, uint64_t offset,
                         struct perf_event_header *header)
{
    const uint64_t left = ring->head - offset;
    if (left < sizeof *header)
        return false;
    copy(ring, offset, header, sizeof *header);
    return header->size >= sizeof *header && header->size <= left;
}

uint64_t sampler_ring_word(const struct sampler_ring *ring, uint64_t offset)
{
    uint64_t word;
    copy(ring, offset, &word, sizeof word);
    return word;
}

const struct perf_event_header *sampler_ring_record(const struct sampler_ring *ring,
                                                    uint64_t offset,
                                                    const struct perf_event_header *header,
                                                    void *buffer, bool *copied)
{
    const size_t start = (size_t)offset & (ring->size - 1);
    *copied = header->size > ring->size - start || start % 8 || ring->untrusted;
    if (!*copied)
        return (const void *)&ring->data[start];
    copy(ring, offset, buffer, header->size);
    memcpy(buffer, header, sizeof *header); /* what was checked, whatever stands there now */
    return buffer;
}
