#include "base/base.h"
#include "names/names.h"

#include <CUnit/CUnit.h>

static void test_names_that_come_later_differ(void)
{
    struct names_screen *screen = names_screen_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(screen);
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "shop::price(int)"), "shop::price");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "main"), "main");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "shop::price(double)"), "shop::price(double)");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "A<int>::f(char)"), "A::f");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "A<long>::f(char)"), "A<long>::f");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "A<int>::f(long)"), "A<int>::f");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "A<long>::f(long)"), "A::f(long)");
    /* the same again, as before */
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "shop::price(int)"), "shop::price");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, "shop::price(double)"), "shop::price(double)");
    CU_ASSERT_STRING_EQUAL(names_screen_show(screen, ""), "");
    names_screen_free(screen);
}

static void test_without_a_screen_names_are_full(void)
{
    CU_ASSERT_STRING_EQUAL(names_screen_show(NULL, "shop::price(int)"), "shop::price(int)");
    names_screen_free(NULL);
}

void sprof_suite_names_screen(void);
void sprof_suite_names_screen(void)
{
    CU_pSuite suite = CU_add_suite("names/screen", NULL, NULL);
    CU_add_test(suite, "names that come later differ", test_names_that_come_later_differ);
    CU_add_test(suite, "without a screen names are full", test_without_a_screen_names_are_full);
}
