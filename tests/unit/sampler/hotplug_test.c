#include "sampler/perf/hotplug.h"

#include <CUnit/CUnit.h>

/* A list such as "0-3,8". */
static void note(struct perf_hotplug *hotplug, const char *sampled, const char *online, bool slept)
{
    struct sprof_id_list cpus = {0}, now = {0};
    CU_ASSERT_TRUE(sprof_proc_parse_ranges(sampled, &cpus));
    CU_ASSERT_TRUE(sprof_proc_parse_ranges(online, &now));
    CU_ASSERT_EQUAL(perf_hotplug_note(hotplug, &cpus, &now, slept), 0);
    sprof_vec_release(&cpus);
    sprof_vec_release(&now);
}

/* The absent CPUs have these indices, and all or none of them are back. */
static void check(const struct perf_hotplug *hotplug, size_t count, size_t first, bool are_back)
{
    CU_ASSERT_EQUAL_FATAL(hotplug->absent.count, count);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(hotplug->absent.items[i].index, first + i);
        CU_ASSERT_EQUAL(hotplug->absent.items[i].is_back, are_back);
    }
}

static void test_a_cpu_goes_and_comes_back(void)
{
    struct perf_hotplug hotplug = {0};
    note(&hotplug, "0-3", "0-3", false);
    check(&hotplug, 0, 0, false);
    note(&hotplug, "0-3", "0,3", false);
    note(&hotplug, "0-3", "0,3", false);
    check(&hotplug, 2, 1, false);
    note(&hotplug, "0-3", "0-3", false);
    check(&hotplug, 2, 1, true);
    note(&hotplug, "0-3", "0", false);
    check(&hotplug, 3, 1, false);
    perf_hotplug_release(&hotplug);
}

/* While the machine sleeps, all CPUs but the first are offline, whichever are sampled. */
static void test_the_machine_slept(void)
{
    struct perf_hotplug hotplug = {0};
    note(&hotplug, "0-2", "0-3", true);
    check(&hotplug, 2, 1, true);
    perf_hotplug_release(&hotplug);
    hotplug = (struct perf_hotplug){0};
    note(&hotplug, "2-3", "0-3", true);
    check(&hotplug, 2, 0, true);
    perf_hotplug_release(&hotplug);
}

void sprof_suite_sampler_hotplug(void);
void sprof_suite_sampler_hotplug(void)
{
    CU_pSuite suite = CU_add_suite("sampler/hotplug", NULL, NULL);
    CU_add_test(suite, "a CPU goes and comes back", test_a_cpu_goes_and_comes_back);
    CU_add_test(suite, "the machine slept", test_the_machine_slept);
}
