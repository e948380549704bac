#include "sampler/merge.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, SIZE = 4096, RECORD = 40, RINGS = 7 };

/* A ring like the kernel's, in memory that ring_close may unmap. */
static struct ring new_ring(void)
{
    void *base =
        mmap(NULL, PAGE + SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(base, MAP_FAILED);
    return (struct ring){.fd = -1, .base = base, .data = (uint8_t *)base + PAGE, .size = SIZE};
}

/* Writes a record that is nothing but a header and the trailer with its time. */
static void write_record(struct ring *ring, uint64_t time_ns)
{
    struct perf_event_mmap_page *page = ring->base;
    struct {
        struct perf_event_header header;
        uint64_t ids, time_ns, cpu, identifier;
    } record = {{.type = PERF_RECORD_COMM, .size = RECORD}, 0, time_ns, 0, 0};
    for (size_t i = 0; i < RECORD; i++)
        ring->data[(page->data_head + i) % SIZE] = ((uint8_t *)&record)[i];
    page->data_head += RECORD;
}

static void test_many_rings_come_in_order(void)
{
    struct merge merge = {0};
    for (int i = 0; i < RINGS; i++) {
        const struct ring ring = new_ring();
        CU_ASSERT_EQUAL_FATAL(merge_add(&merge, &ring), 0);
    }
    unsigned seed = 1;
    uint64_t time_ns = 1000, last_ns = 0, seen = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 70; i++) {
            seed = seed * 1103515245 + 12345;
            write_record(&merge.rings.items[(seed >> 16) % RINGS], time_ns++);
        }
        CU_ASSERT_TRUE(merge_refresh(&merge));
        uint64_t first_ns;
        while (merge_first(&merge, &first_ns)) {
            CU_ASSERT_TRUE(first_ns > last_ns);
            last_ns = first_ns;
            seen++;
            merge_advance(&merge, RECORD);
        }
        merge_publish(&merge);
    }
    CU_ASSERT_EQUAL(seen, 200 * 70);
    merge_release(&merge);
}

static void test_time_does_not_go_back_within_a_ring(void)
{
    struct merge merge = {0};
    const struct ring ring = new_ring();
    CU_ASSERT_EQUAL_FATAL(merge_add(&merge, &ring), 0);
    write_record(&merge.rings.items[0], 100);
    write_record(&merge.rings.items[0], 90);
    merge_refresh(&merge);
    uint64_t time_ns;
    CU_ASSERT_PTR_NOT_NULL(merge_first(&merge, &time_ns));
    merge_advance(&merge, RECORD);
    CU_ASSERT_PTR_NOT_NULL(merge_first(&merge, &time_ns));
    CU_ASSERT_EQUAL(time_ns, 100);
    merge_release(&merge);
}

static void test_a_broken_ring_is_passed_over(void)
{
    struct merge merge = {0};
    for (int i = 0; i < 2; i++) {
        const struct ring ring = new_ring();
        CU_ASSERT_EQUAL_FATAL(merge_add(&merge, &ring), 0);
    }
    struct ring *broken = &merge.rings.items[0];
    write_record(broken, 1);
    write_record(broken, 2);
    memset(broken->data, 0, 8);
    write_record(&merge.rings.items[1], 3);
    merge_refresh(&merge);
    uint64_t time_ns;
    CU_ASSERT_PTR_EQUAL(merge_first(&merge, &time_ns), broken);
    merge_skip_ring(&merge);
    CU_ASSERT_PTR_EQUAL(merge_first(&merge, &time_ns), &merge.rings.items[1]);
    merge_advance(&merge, RECORD);
    CU_ASSERT_PTR_NULL(merge_first(&merge, &time_ns));
    write_record(broken, 4);
    merge_refresh(&merge);
    CU_ASSERT_PTR_EQUAL(merge_first(&merge, &time_ns), broken);
    CU_ASSERT_EQUAL(time_ns, 4);
    merge_release(&merge);
}

void sprof_suite_sampler_merge(void);
void sprof_suite_sampler_merge(void)
{
    CU_pSuite suite = CU_add_suite("sampler/merge", NULL, NULL);
    CU_add_test(suite, "many rings come in order", test_many_rings_come_in_order);
    CU_add_test(suite, "time does not go back", test_time_does_not_go_back_within_a_ring);
    CU_add_test(suite, "a broken ring is passed over", test_a_broken_ring_is_passed_over);
}
