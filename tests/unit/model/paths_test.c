#include "tests/unit/model/trees.h"

static void test_worked_example_call_paths(void)
{
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 10);
    CU_ASSERT_STRING_EQUAL(tree_text(&paths),
                           "A 1/6 AB 1/3 ABS 0/2 ABST 2/2 AC 0/2 ACB 1/2 ACBS 0/1 ACBST 1/1");
    const struct model_cost total = model_paths_total(&paths);
    CU_ASSERT_EQUAL(total.samples, 6);
    CU_ASSERT_EQUAL(total.weight, 60);
    CU_ASSERT_EQUAL(paths.items.items[0].costs.inclusive.weight, 60);
    CU_ASSERT_EQUAL(paths.items.items[3].costs.exclusive.weight, 20);
    model_paths_release(&paths);
}

static void test_a_child_is_made_once(void)
{
    struct model_paths paths = {0};
    const uint32_t first = path_of(&paths, "ABC");
    CU_ASSERT_EQUAL(path_of(&paths, "ABC"), first);
    CU_ASSERT_NOT_EQUAL(path_of(&paths, "ABA"), first);
    CU_ASSERT_EQUAL(paths.items.count, 4);
    CU_ASSERT_EQUAL(paths.items.items[first - 1].depth, 3);
    model_paths_release(&paths);
}

static void test_sums_again_after_more(void)
{
    struct model_paths paths = tree_of(worked_example, WORKED_EXAMPLE, 1);
    model_paths_add(&paths, path_of(&paths, "ABST"), (struct model_cost){4, 4});
    model_paths_sum(&paths);
    CU_ASSERT_STRING_EQUAL(tree_text(&paths),
                           "A 1/10 AB 1/7 ABS 0/6 ABST 6/6 AC 0/2 ACB 1/2 ACBS 0/1 ACBST 1/1");
    model_paths_release(&paths);
}

void sprof_suite_model_paths(void);
void sprof_suite_model_paths(void)
{
    CU_pSuite suite = CU_add_suite("model/paths", NULL, NULL);
    CU_add_test(suite, "worked example: call paths", test_worked_example_call_paths);
    CU_add_test(suite, "a child is made once", test_a_child_is_made_once);
    CU_add_test(suite, "sums again after more", test_sums_again_after_more);
}
