/* Rings that no kernel writes. */
#ifndef SPROF_TESTS_SAMPLER_FAKE_RING_H
#define SPROF_TESTS_SAMPLER_FAKE_RING_H

#include "sampler/ring.h"

#include <CUnit/CUnit.h>
#include <sys/mman.h>

enum { FAKE_PAGE = 4096, FAKE_SIZE = 4096, FAKE_RECORD = 40 };

/* A ring like the kernel's, in memory that sampler_ring_close may unmap. */
static inline struct sampler_ring fake_ring(void)
{
    void *base = mmap(NULL, FAKE_PAGE + FAKE_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(base, MAP_FAILED);
    struct perf_event_mmap_page *page = base;
    struct sampler_ring ring = sampler_ring_of((uint8_t *)base + FAKE_PAGE, FAKE_SIZE,
                                               (void *)&page->data_head, (void *)&page->data_tail);
    ring.mapping = base;
    ring.mapping_size = FAKE_PAGE + FAKE_SIZE;
    return ring;
}

/* Writes a record that is nothing but a header and the trailer with its time. */
static inline void fake_record(struct sampler_ring *ring, uint32_t type, uint64_t time_ns)
{
    struct perf_event_mmap_page *page = ring->mapping;
    struct {
        struct perf_event_header header;
        uint64_t ids, time_ns, cpu, identifier;
    } record = {{.type = type, .size = FAKE_RECORD}, 0, time_ns, 0, 0};
    for (size_t i = 0; i < FAKE_RECORD; i++)
        ((uint8_t *)page)[FAKE_PAGE + (page->data_head + i) % FAKE_SIZE] = ((uint8_t *)&record)[i];
    page->data_head += FAKE_RECORD;
}

#endif
