/* Cgroups as this machine has them. */
#include "target/target.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

static void test_own_cgroup(void)
{
    char path[TARGET_PATH_MAX];
    struct target_cgroup root, own;
    struct sprof_error error = {0};
    if (target_cgroup_find("", &root, &error)) {
        CU_ASSERT_EQUAL(error.code, SPROF_EUNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "mount -t cgroup2"));
        return;
    }
    target_cgroup_of(getpid(), path, sizeof path);
    CU_ASSERT_TRUE(path[0] == '/');
    if (!target_cgroup_find(path, &own, &error)) { /* else it is above what is mounted here */
        CU_ASSERT_TRUE(own.level >= root.level);
        CU_ASSERT_TRUE(target_cgroup_has(&own, getpid()));
        CU_ASSERT_TRUE(target_cgroup_has(&root, getpid()));
    }
}

/* The directory where it is mounted, and slashes before and behind, mean the same cgroup. */
static void test_ways_to_write_it(void)
{
    struct target_cgroup root, same;
    struct sprof_error error = {0};
    if (target_cgroup_find("", &root, &error))
        return;
    CU_ASSERT_EQUAL(target_cgroup_find("/", &same, &error), 0);
    CU_ASSERT_EQUAL(same.id, root.id);
    CU_ASSERT_EQUAL(target_cgroup_find(root.directory, &same, &error), 0);
    CU_ASSERT_EQUAL(same.id, root.id);
    CU_ASSERT_EQUAL(same.level, root.level);
}

static void test_none(void)
{
    static const char *const paths[] = {"no/such/cgroup", "../../etc", "cgroup.procs"};
    struct target_cgroup cgroup;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct sprof_error error = {0};
        const int result = target_cgroup_find(paths[i], &cgroup, &error);
        CU_ASSERT_TRUE(result == SPROF_ENOTFOUND || result == SPROF_EUNSUPPORTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "\nrun ") ? error.message
                                                               : strstr(error.message, "\nname "));
    }
}

static void test_a_process_that_is_gone(void)
{
    char path[64] = "before";
    struct target_cgroup root;
    target_cgroup_of(1 << 30, path, sizeof path);
    CU_ASSERT_STRING_EQUAL(path, "");
    if (!target_cgroup_find("", &root, NULL))
        CU_ASSERT_FALSE(target_cgroup_has(&root, 1 << 30));
}

void sprof_suite_target_cgroups(void);
void sprof_suite_target_cgroups(void)
{
    CU_pSuite suite = CU_add_suite("target/cgroups", NULL, NULL);
    CU_add_test(suite, "own cgroup", test_own_cgroup);
    CU_add_test(suite, "ways to write it", test_ways_to_write_it);
    CU_add_test(suite, "none", test_none);
    CU_add_test(suite, "a process that is gone", test_a_process_that_is_gone);
}
