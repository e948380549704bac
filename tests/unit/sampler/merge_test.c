#include "tests/unit/sampler/fake_ring.h"

#include "sampler/merge.h"

#include <stdlib.h>
#include <string.h>

enum { RINGS = 7 };

static void test_many_rings_come_in_order(void)
{
    struct sampler_merge merge = {0};
    for (int i = 0; i < RINGS; i++) {
        const struct sampler_ring ring = fake_ring();
        CU_ASSERT_EQUAL_FATAL(sampler_merge_add(&merge, &ring), 0);
    }
    unsigned seed = 1;
    uint64_t time_ns = 1000, last_ns = 0, seen = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 70; i++) {
            seed = seed * 1103515245 + 12345;
            fake_record(&merge.rings.items[(seed >> 16) % RINGS], PERF_RECORD_COMM, time_ns++);
        }
        CU_ASSERT_TRUE(sampler_merge_refresh(&merge));
        uint64_t first_ns;
        while (sampler_merge_first(&merge, &first_ns)) {
            CU_ASSERT_TRUE(first_ns > last_ns);
            last_ns = first_ns;
            seen++;
            sampler_merge_advance(&merge, FAKE_RECORD);
        }
        sampler_merge_publish(&merge);
    }
    CU_ASSERT_EQUAL(seen, 200 * 70);
    sampler_merge_release(&merge);
}

static void test_time_does_not_go_back_within_a_ring(void)
{
    struct sampler_merge merge = {0};
    const struct sampler_ring ring = fake_ring();
    CU_ASSERT_EQUAL_FATAL(sampler_merge_add(&merge, &ring), 0);
    fake_record(&merge.rings.items[0], PERF_RECORD_COMM, 100);
    fake_record(&merge.rings.items[0], PERF_RECORD_COMM, 90);
    sampler_merge_refresh(&merge);
    uint64_t time_ns;
    CU_ASSERT_PTR_NOT_NULL(sampler_merge_first(&merge, &time_ns));
    sampler_merge_advance(&merge, FAKE_RECORD);
    CU_ASSERT_PTR_NOT_NULL(sampler_merge_first(&merge, &time_ns));
    CU_ASSERT_EQUAL(time_ns, 100);
    sampler_merge_release(&merge);
}

static void test_a_broken_ring_is_passed_over(void)
{
    struct sampler_merge merge = {0};
    for (int i = 0; i < 2; i++) {
        const struct sampler_ring ring = fake_ring();
        CU_ASSERT_EQUAL_FATAL(sampler_merge_add(&merge, &ring), 0);
    }
    struct sampler_ring *broken = &merge.rings.items[0];
    fake_record(broken, PERF_RECORD_COMM, 1);
    fake_record(broken, PERF_RECORD_COMM, 2);
    memset((uint8_t *)broken->data, 0, 8);
    fake_record(&merge.rings.items[1], PERF_RECORD_COMM, 3);
    sampler_merge_refresh(&merge);
    uint64_t time_ns;
    CU_ASSERT_PTR_EQUAL(sampler_merge_first(&merge, &time_ns), broken);
    sampler_merge_skip_ring(&merge);
    CU_ASSERT_PTR_EQUAL(sampler_merge_first(&merge, &time_ns), &merge.rings.items[1]);
    sampler_merge_advance(&merge, FAKE_RECORD);
    CU_ASSERT_PTR_NULL(sampler_merge_first(&merge, &time_ns));
    fake_record(broken, PERF_RECORD_COMM, 4);
    sampler_merge_refresh(&merge);
    CU_ASSERT_PTR_EQUAL(sampler_merge_first(&merge, &time_ns), broken);
    CU_ASSERT_EQUAL(time_ns, 4);
    sampler_merge_release(&merge);
}

void sprof_suite_sampler_merge(void);
void sprof_suite_sampler_merge(void)
{
    CU_pSuite suite = CU_add_suite("sampler/merge", NULL, NULL);
    CU_add_test(suite, "many rings come in order", test_many_rings_come_in_order);
    CU_add_test(suite, "time does not go back", test_time_does_not_go_back_within_a_ring);
    CU_add_test(suite, "a broken ring is passed over", test_a_broken_ring_is_passed_over);
}
