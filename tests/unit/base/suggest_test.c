#include "base/suggest.h"

#include <CUnit/CUnit.h>

static void check(const char *word, const char *const *names, const char *expected)
{
    struct sprof_suggestions near = {0};
    struct sprof_str out = {0};
    for (; *names; names++)
        sprof_suggest_offer(&near, word, *names);
    CU_ASSERT_EQUAL(sprof_str_append(&out, ""), 0);
    CU_ASSERT_EQUAL(sprof_suggest_append(&out, &near), 0);
    CU_ASSERT_STRING_EQUAL(out.text, expected);
    sprof_str_release(&out);
}

static void test_parts_come_before_slips(void)
{
    static const char *const names[] = {"prase", "unrelated", "json_parse", "parse_all", NULL};
    check("parse", names, "; near it: json_parse, parse_all, prase");
}

static void test_case_is_ignored(void)
{
    static const char *const names[] = {"PARSE_ALL", "zzz", NULL};
    check("parse", names, "; near it: PARSE_ALL");
}

static void test_scope_and_parameters_are_left_out(void)
{
    static const char *const names[] = {"ns::catcher(int)", "core::ptr::drop_in_place<T>",
                                        "(anonymous namespace)::x(int)", "far", NULL};
    check("catchr", names, "; near it: ns::catcher(int)");
    check("^drp_in_place$", names, "; near it: core::ptr::drop_in_place<T>");
    check("^FAR$", names, "; near it: far");
}

static void test_stars_around_a_word_are_left_out(void)
{
    static const char *const names[] = {"libparse.so.1", "libc.so.6", NULL};
    check("libprase*", names, "");
    check("*libparze.so*", names, "; near it: libparse.so.1");
}

static void test_nothing_is_near(void)
{
    static const char *const names[] = {"alpha", "beta", NULL};
    check("xyzzy", names, "");
}

static void test_only_the_best_are_kept(void)
{
    static const char *const names[] = {"abcdxx", "abcdex", "abcde1", "abcde2", "abcde3",
                                        "xabcde", "abcde",  "abcde",  NULL};
    check("abcde", names, "; near it: abcdex, abcde1, abcde2, abcde3, xabcde");
    static const char *const late[] = {"abxyz", "abcxz", "abcyz", "abczz", "abcxe", "abcde", NULL};
    struct sprof_suggestions near = {0};
    for (const char *const *name = late; *name; name++)
        sprof_suggest_offer(&near, "abcde", *name);
    CU_ASSERT_STRING_EQUAL(near.names[0], "abcde");
    CU_ASSERT_STRING_EQUAL(near.names[1], "abcxe");
    CU_ASSERT_EQUAL(near.count, 5);
}

static void test_long_names_are_bounded(void)
{
    char name[500];
    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = 'x';
    name[sizeof name - 1] = '\0';
    struct sprof_suggestions near = {0};
    sprof_suggest_offer(&near, "y", name);
    CU_ASSERT_EQUAL(near.count, 0);
    sprof_suggest_offer(&near, "xxx", name);
    CU_ASSERT_EQUAL(near.count, 1);
}

static void test_nearest(void)
{
    static const char *const names[] = {"record", "report", "script", "sql", "symbolize", NULL};
    CU_ASSERT_EQUAL(sprof_suggest_nearest("recrod", names), 0);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("Reports", names), 1);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("sym", names), 4);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("sql", names), 3);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("frobnicate", names), -1);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("", names), -1);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("x", (const char *const[]){"y", "no", NULL}), -1);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("of", (const char *const[]){"end", "off", NULL}), 1);
    CU_ASSERT_EQUAL(sprof_suggest_nearest("foo", (const char *const[]){"on", "end", NULL}), -1);
    CU_ASSERT_EQUAL(
        sprof_suggest_nearest(
            "a word far longer than any option of any program should be, be it long", names),
        -1);
}

void sprof_suite_base_suggest(void);
void sprof_suite_base_suggest(void)
{
    CU_pSuite suite = CU_add_suite("base/suggest", NULL, NULL);
    CU_add_test(suite, "nearest", test_nearest);
    CU_add_test(suite, "parts come before slips", test_parts_come_before_slips);
    CU_add_test(suite, "case is ignored", test_case_is_ignored);
    CU_add_test(suite, "scope and parameters", test_scope_and_parameters_are_left_out);
    CU_add_test(suite, "stars", test_stars_around_a_word_are_left_out);
    CU_add_test(suite, "nothing is near", test_nothing_is_near);
    CU_add_test(suite, "only the best are kept", test_only_the_best_are_kept);
    CU_add_test(suite, "long names are bounded", test_long_names_are_bounded);
}
