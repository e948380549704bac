#include "base/base.h"

#include <CUnit/CUnit.h>
#include <time.h>

static const uint64_t second_ns = UINT64_C(1000000000);

static void test_monotonic_is_the_kernels(void)
{
    struct timespec now;
    const uint64_t before = sprof_clock_monotonic_ns();
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t after = sprof_clock_monotonic_ns();
    const uint64_t kernel = (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
    CU_ASSERT_TRUE(before <= kernel && kernel <= after);
}

static void test_realtime_counts_from_1970(void)
{
    const uint64_t now = sprof_clock_realtime_ns();
    const int64_t difference = (int64_t)(now / second_ns) - (int64_t)time(NULL);
    CU_ASSERT_TRUE(difference >= -2 && difference <= 2);
}

static void test_own_cpu_counts_work_not_sleep(void)
{
    const uint64_t start = sprof_clock_own_cpu_ns();
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    CU_ASSERT_TRUE(sprof_clock_own_cpu_ns() - start < 20000000);
    const uint64_t limit = sprof_clock_monotonic_ns() + 10 * second_ns;
    while (sprof_clock_own_cpu_ns() - start < 2000000 && sprof_clock_monotonic_ns() < limit)
        ;
    CU_ASSERT_TRUE(sprof_clock_own_cpu_ns() - start >= 2000000);
}

void sprof_suite_base_clock(void);
void sprof_suite_base_clock(void)
{
    CU_pSuite suite = CU_add_suite("base/clock", NULL, NULL);
    CU_add_test(suite, "monotonic is the kernel's", test_monotonic_is_the_kernels);
    CU_add_test(suite, "realtime counts from 1970", test_realtime_counts_from_1970);
    CU_add_test(suite, "own CPU counts work, not sleep", test_own_cpu_counts_work_not_sleep);
}
