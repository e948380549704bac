#include "sampler/perf/counters.h"

#include "tests/unit/sampler/live.h"

#include <CUnit/CUnit.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { APART_NS = 50000000 }; /* a machine that stood still in between */

/* A child that waits for a byte, then starts another one, and both use CPU time. */
static pid_t start_family(int go)
{
    const pid_t pid = fork();
    if (pid)
        return pid;
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(1);
    const pid_t grandchild = fork();
    execl(SAMPLER_SPIN, "spin", "1", grandchild ? "20" : "300", (char *)NULL);
    _exit(127);
}

static void test_a_thread_and_its_family(void)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t pid = start_family(ends[0]);
    struct perf_counters counters = {0};
    struct sampler_ring ring;
    CU_ASSERT_EQUAL_FATAL(perf_counters_add(&counters, pid, pid, true, false, 4096, &ring), 0);
    CU_ASSERT_PTR_NOT_NULL(ring.mapping);
    perf_counters_enable(&counters);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), 1);
    waitpid(pid, NULL, 0);
    struct perf_event_header header = {0};
    for (int i = 0; i < 500 && !sampler_ring_header(&ring, 0, &header);
         i++) { /* the grandchild lives longer */
        usleep(10000);
        sampler_ring_refresh(&ring);
    }
    CU_ASSERT_EQUAL_FATAL(header.type, PERF_RECORD_READ);
    const uint64_t grandchild_ns = sampler_ring_word(&ring, 16);
    uint64_t own_ns = 0;
    CU_ASSERT_TRUE(perf_counters_thread_ns(&counters, pid, false, &own_ns));
    CU_ASSERT_TRUE(own_ns >= 15000000 && own_ns < 250000000);
    CU_ASSERT_TRUE(grandchild_ns >= 290000000);
    /* The kernel writes the record first and adds the count to its parent's a moment later. Two
     * events of one thread may be stopped some instructions apart. */
    const uint64_t least_ns = own_ns + grandchild_ns - APART_NS;
    for (int i = 0; i < 500 && perf_counters_total_ns(&counters) < least_ns; i++)
        usleep(10000);
    CU_ASSERT_TRUE(perf_counters_total_ns(&counters) - least_ns <= 2 * (uint64_t)APART_NS);
    CU_ASSERT_TRUE(perf_counters_thread_ns(&counters, pid, true, &own_ns));
    CU_ASSERT_FALSE(perf_counters_thread_ns(&counters, pid, true, &own_ns));
    perf_counters_release(&counters);
    sampler_ring_close(&ring);
    close(ends[0]);
    close(ends[1]);
}

static void test_a_thread_that_is_gone(void)
{
    struct perf_counters counters = {0};
    struct sampler_ring ring;
    CU_ASSERT_TRUE(perf_counters_add(&counters, 0x3fffffff, 0x3fffffff, true, false, 4096, &ring) <
                   0);
    CU_ASSERT_PTR_NULL(ring.mapping);
    CU_ASSERT_EQUAL(perf_counters_total_ns(&counters), 0);
    perf_counters_release(&counters);
}

void sprof_suite_sampler_counters(void);
void sprof_suite_sampler_counters(void)
{
    CU_pSuite suite = CU_add_suite("sampler/counters", NULL, NULL);
    CU_add_test(suite, "a thread and its family", test_a_thread_and_its_family);
    CU_add_test(suite, "a thread that is gone", test_a_thread_that_is_gone);
}
