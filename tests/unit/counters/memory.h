/* Shared memory as an agent and a tracer have it, which tests write as the agent does. */
#ifndef SPROF_TESTS_UNIT_COUNTERS_MEMORY_H
#define SPROF_TESTS_UNIT_COUNTERS_MEMORY_H

#include "counters/counters.h"

#include <CUnit/CUnit.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory for so many slabs and functions; all slabs were taken. */
static inline struct counters_pages memory_make(uint32_t slabs, uint32_t functions)
{
    const uint64_t bytes = probe_shared_bytes(slabs, probe_slab_bytes(functions));
    struct counters_pages pages = {
        .memory_fd = memfd_create("counters", MFD_CLOEXEC), .slabs = slabs, .functions = functions};
    CU_ASSERT_EQUAL_FATAL(ftruncate(pages.memory_fd, (off_t)bytes), 0);
    pages.shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages.memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(pages.shared, MAP_FAILED);
    pages.shared->slabs_used = slabs;
    return pages;
}

static inline void memory_release(struct counters_pages *pages)
{
    munmap(pages->shared, probe_shared_bytes(pages->slabs, probe_slab_bytes(pages->functions)));
    close(pages->memory_fd);
}

#endif
