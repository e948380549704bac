/* Rings that no kernel writes. */
#ifndef SPROF_TESTS_SAMPLER_FAKE_RING_H
#define SPROF_TESTS_SAMPLER_FAKE_RING_H

#include "sampler/ring.h"

#include <CUnit/CUnit.h>
#include <sys/mman.h>

enum { FAKE_PAGE = 4096, FAKE_SIZE = 4096, FAKE_RECORD = 40 };

/* A ring like the kernel's, in memory that ring_close may unmap. */
static inline struct ring fake_ring(void)
{
    void *base = mmap(NULL, FAKE_PAGE + FAKE_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(base, MAP_FAILED);
    return (struct ring){
        .fd = -1, .base = base, .data = (uint8_t *)base + FAKE_PAGE, .size = FAKE_SIZE};
}

/* Writes a record that is nothing but a header and the trailer with its time. */
static inline void fake_record(struct ring *ring, uint32_t type, uint64_t time_ns)
{
    struct perf_event_mmap_page *page = ring->base;
    struct {
        struct perf_event_header header;
        uint64_t ids, time_ns, cpu, identifier;
    } record = {{.type = type, .size = FAKE_RECORD}, 0, time_ns, 0, 0};
    for (size_t i = 0; i < FAKE_RECORD; i++)
        ring->data[(page->data_head + i) % FAKE_SIZE] = ((uint8_t *)&record)[i];
    page->data_head += FAKE_RECORD;
}

#endif
