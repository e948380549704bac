#include "sampler/perf/events.h"

#include "sampler/compat.h"
#include "sampler/perf/event_config.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <unistd.h>

static void test_what_cannot_be_is_an_errno(void)
{
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    attr.type = 4711;
    CU_ASSERT_EQUAL(perf_open(&attr, 0, -1, -1), -ENOENT);
    perf_config_counter(&attr);
    CU_ASSERT_EQUAL(perf_open(&attr, 0x3fffffff, -1, -1), -ESRCH);
}

/* A flag that stays wrong: all others are dropped before that is admitted. */
static void test_new_flags_are_dropped(void)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, true);
    attr.precise_ip = 3;
    attr.exclude_callchain_user = attr.exclude_callchain_kernel = 1;
    attr.read_format |= UINT64_C(1) << 60;
    CU_ASSERT_EQUAL(perf_open_dropping(&attr, 0, -1, -1), -EINVAL);
    CU_ASSERT_FALSE(SPROF_PERF_BUILD_ID(&attr));
    CU_ASSERT_FALSE(attr.comm_exec);
}

static void test_good_flags_stay(void)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, true);
    const int fd = perf_open_dropping(&attr, 0, -1, -1);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(attr.comm_exec);
    CU_ASSERT_TRUE(perf_event_id(fd) > 0);
    uint64_t lost = 1;
    CU_ASSERT_TRUE(!perf_event_lost(fd, &lost) || !lost);
    close(fd);
    CU_ASSERT_EQUAL(perf_event_id(-1), 0);
    CU_ASSERT_EQUAL(perf_event_count(-1), 0);
}

void sprof_suite_sampler_events(void);
void sprof_suite_sampler_events(void)
{
    CU_pSuite suite = CU_add_suite("sampler/events", NULL, NULL);
    CU_add_test(suite, "what cannot be is an errno", test_what_cannot_be_is_an_errno);
    CU_add_test(suite, "new flags are dropped", test_new_flags_are_dropped);
    CU_add_test(suite, "good flags stay", test_good_flags_stay);
}
