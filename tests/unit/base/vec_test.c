#include "base/base.h"

#include <CUnit/CUnit.h>

static void test_push_keeps_order(void)
{
    SPROF_VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&numbers, i), 0);
    CU_ASSERT_EQUAL(numbers.count, 1000);
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL(numbers.items[i], i);
    sprof_vec_release(&numbers);
    CU_ASSERT_PTR_NULL(numbers.items);
}

static void test_impossible_size_changes_nothing(void)
{
    SPROF_VEC(int) numbers = {0};
    CU_ASSERT_EQUAL(sprof_vec_push(&numbers, 7), 0);
    CU_ASSERT_EQUAL(sprof_vec_reserve(&numbers, (size_t)-1 / 2), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(numbers.count, 1);
    CU_ASSERT_EQUAL(numbers.items[0], 7);
    sprof_vec_release(&numbers);
}

void sprof_suite_base_vec(void);
void sprof_suite_base_vec(void)
{
    CU_pSuite suite = CU_add_suite("base/vec", NULL, NULL);
    CU_add_test(suite, "push keeps order", test_push_keeps_order);
    CU_add_test(suite, "an impossible size changes nothing", test_impossible_size_changes_nothing);
}
