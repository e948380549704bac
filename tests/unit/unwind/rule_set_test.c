#include "base/base.h"
#include "unwind/rule.h"

#include <CUnit/CUnit.h>

static void test_numbers(void)
{
    struct rule_set set = {0};
    uint16_t number = 99;
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 5000; i++) {
            CU_ASSERT_EQUAL(unwind_rule_set_intern(&set, i << 32, &number), 0);
            CU_ASSERT_EQUAL(number, i);
        }
    CU_ASSERT_EQUAL(set.count, 5000);
    CU_ASSERT_EQUAL(set.rules[4999], UINT64_C(4999) << 32);
    unwind_rule_set_release(&set);
}

static void test_limit(void)
{
    struct rule_set set = {0};
    uint16_t number;
    uint64_t rule = 0;
    while (!unwind_rule_set_intern(&set, rule, &number))
        rule++;
    CU_ASSERT_EQUAL(rule, 65535);
    CU_ASSERT_EQUAL(unwind_rule_set_intern(&set, rule, &number), SPROF_ELIMIT);
    CU_ASSERT_EQUAL(unwind_rule_set_intern(&set, 17, &number), 0);
    CU_ASSERT_EQUAL(number, 17);
    unwind_rule_set_release(&set);
}

void sprof_suite_unwind_rule_set(void);
void sprof_suite_unwind_rule_set(void)
{
    CU_pSuite suite = CU_add_suite("unwind/rule_set", NULL, NULL);
    CU_add_test(suite, "numbers", test_numbers);
    CU_add_test(suite, "limit", test_limit);
}
