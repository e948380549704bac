/* Which functions expressions choose. */
#include "plan/expressions.h"

#include <CUnit/CUnit.h>
#include <string.h>

static struct sprof_error error;

static int matches(const struct plan_expressions *expressions, const char *name,
                   const char *linkage_name)
{
    const struct plan_function function = {.name = (char *)(uintptr_t)name,
                                           .linkage_name = (char *)(uintptr_t)linkage_name};
    return plan_expressions_match(expressions, &function, &error);
}

static void test_none_finds_all(void)
{
    CU_ASSERT_EQUAL(matches(NULL, "a", "a"), 1);
    CU_ASSERT_FALSE(plan_expressions_include(NULL));
}

static void test_wanted_and_unwanted(void)
{
    static const char *const texts[] = {"^net::", "parse", "!test", "!^_ZN3net4slow"};
    struct plan_expressions *expressions;
    CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&expressions, texts, 4, &error), 0);
    CU_ASSERT_TRUE(plan_expressions_include(expressions));
    CU_ASSERT_EQUAL(matches(expressions, "net::send(int)", "_ZN3net4sendEi"), 1);
    CU_ASSERT_EQUAL(matches(expressions, "my::net::send(int)", "_ZN2my3net4sendEi"), 0);
    CU_ASSERT_EQUAL(matches(expressions, "parse_line", "parse_line"), 1);
    CU_ASSERT_EQUAL(matches(expressions, "parse_test", "parse_test"), 0);
    CU_ASSERT_EQUAL(matches(expressions, "net::slow()", "_ZN3net4slowEv"), 0);
    const struct plan_function function = {.name = (char *)(uintptr_t) "a test",
                                           .linkage_name = (char *)(uintptr_t) "a_test"};
    CU_ASSERT_EQUAL(plan_expressions_exclude(expressions, &function, &error), 1);
    plan_expressions_free(expressions);
}

static void test_unwanted_alone_leave_all_else(void)
{
    static const char *const texts[] = {"!^main$"};
    struct plan_expressions *expressions;
    CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&expressions, texts, 1, &error), 0);
    CU_ASSERT_FALSE(plan_expressions_include(expressions));
    CU_ASSERT_EQUAL(matches(expressions, "main", "main"), 0);
    CU_ASSERT_EQUAL(matches(expressions, "domain", "domain"), 1);
    plan_expressions_free(expressions);
}

static void test_a_mistake_is_named(void)
{
    static const char *const texts[] = {"right", "wrong("};
    struct plan_expressions *expressions = (void *)&error;
    CU_ASSERT_EQUAL(plan_expressions_make(&expressions, texts, 2, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NULL(expressions);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "wrong("));
}

static void test_no_name_takes_long(void)
{
    static const char *const texts[] = {"^(a+)+$"};
    char name[64];
    struct plan_expressions *expressions;
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof name - 2, "b", 2);
    CU_ASSERT_EQUAL_FATAL(plan_expressions_make(&expressions, texts, 1, &error), 0);
    CU_ASSERT_EQUAL(matches(expressions, name, name), SPROF_EUSAGE);
    plan_expressions_free(expressions);
}

void sprof_suite_plan_expressions(void);
void sprof_suite_plan_expressions(void)
{
    CU_pSuite suite = CU_add_suite("plan/expressions", NULL, NULL);
    CU_add_test(suite, "none finds all", test_none_finds_all);
    CU_add_test(suite, "wanted and unwanted", test_wanted_and_unwanted);
    CU_add_test(suite, "unwanted alone leave all else", test_unwanted_alone_leave_all_else);
    CU_add_test(suite, "a mistake is named", test_a_mistake_is_named);
    CU_add_test(suite, "no name takes long", test_no_name_takes_long);
}
