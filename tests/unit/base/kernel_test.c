#include "base/kernel.h"

#include <CUnit/CUnit.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

static void test_releases(void)
{
    static const struct {
        const char *release;
        bool is_before; /* 5.17 */
    } cases[] = {
        {"5.10.0-31-cloud-amd64", true},
        {"5.16", true},
        {"4.18.0-553.el8.x86_64", true},
        {"5.17.0", false},
        {"6.1.0-37-amd64", false},
        {"6.10", false},
        {"", false},
        {"rolling", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(sprof_kernel_release_is_before(cases[i].release, 5, 17),
                        cases[i].is_before);
    CU_ASSERT_FALSE(sprof_kernel_is_before(2, 6));
    CU_ASSERT_TRUE(sprof_kernel_is_before(1000, 0));
}

static void test_limit_is_restored(void)
{
    struct rlimit before, after;
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    const struct rlimit lifted = sprof_kernel_lift_bpf_limit();
    CU_ASSERT_EQUAL(memcmp(&lifted, &before, sizeof before), 0);
    sprof_kernel_restore_bpf_limit(&lifted);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_MEMLOCK, &after), 0);
    CU_ASSERT_EQUAL(memcmp(&after, &before, sizeof before), 0);
}

void sprof_suite_base_kernel(void);
void sprof_suite_base_kernel(void)
{
    CU_pSuite suite = CU_add_suite("base/kernel", NULL, NULL);
    CU_add_test(suite, "releases", test_releases);
    CU_add_test(suite, "the limit is restored", test_limit_is_restored);
}
