#include "base/digits.h"

#include <CUnit/CUnit.h>

static void test_groups_of_three(void)
{
    CU_ASSERT_STRING_EQUAL(sprof_digits_of(0).text, "0");
    CU_ASSERT_STRING_EQUAL(sprof_digits_of(999).text, "999");
    CU_ASSERT_STRING_EQUAL(sprof_digits_of(3612).text, "3 612");
    CU_ASSERT_STRING_EQUAL(sprof_digits_of(UINT64_MAX).text, "18 446 744 073 709 551 615");
}

void sprof_suite_base_digits(void);
void sprof_suite_base_digits(void)
{
    CU_pSuite suite = CU_add_suite("base/digits", NULL, NULL);
    CU_add_test(suite, "groups of three", test_groups_of_three);
}
