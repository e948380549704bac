#include "base/base.h"

#include <CUnit/CUnit.h>

static void test_appending(void)
{
    struct sprof_str str = {0};
    CU_ASSERT_EQUAL(sprof_str_append(&str, ""), 0);
    CU_ASSERT_STRING_EQUAL(str.text, "");
    CU_ASSERT_EQUAL(sprof_str_append(&str, "a;"), 0);
    CU_ASSERT_EQUAL(sprof_str_append_bytes(&str, "bcd", 2), 0);
    CU_ASSERT_EQUAL(sprof_str_appendf(&str, ";%s=%d", "x", 42), 0);
    CU_ASSERT_EQUAL(sprof_str_appendf(&str, "%s", ""), 0);
    CU_ASSERT_STRING_EQUAL(str.text, "a;bc;x=42");
    CU_ASSERT_EQUAL(str.length, 9);
    CU_ASSERT_FALSE(str.failed);
    sprof_str_release(&str);
}

static void test_growing(void)
{
    struct sprof_str str = {0};
    for (int i = 0; i < 2000; i++)
        CU_ASSERT_EQUAL(sprof_str_appendf(&str, "%04d", i), 0);
    CU_ASSERT_EQUAL(str.length, 8000);
    CU_ASSERT_EQUAL(strlen(str.text), 8000);
    CU_ASSERT_EQUAL(memcmp(str.text + 4 * 1234, "1234", 4), 0);
    sprof_str_release(&str);
}

static void test_bytes_may_be_nul(void)
{
    struct sprof_str str = {0};
    CU_ASSERT_EQUAL(sprof_str_append_bytes(&str, "a\0b", 3), 0);
    CU_ASSERT_EQUAL(sprof_str_append_bytes(&str, NULL, 0), 0);
    CU_ASSERT_EQUAL(str.length, 3);
    CU_ASSERT_EQUAL(memcmp(str.text, "a\0b", 4), 0);
    sprof_str_release(&str);
}

static void test_clear_keeps_the_memory(void)
{
    struct sprof_str str = {0};
    sprof_str_clear(&str);
    CU_ASSERT_PTR_NULL(str.text);
    sprof_str_append(&str, "something");
    const char *memory = str.text;
    str.failed = 1;
    sprof_str_clear(&str);
    CU_ASSERT_STRING_EQUAL(str.text, "");
    CU_ASSERT_EQUAL(str.length, 0);
    CU_ASSERT_FALSE(str.failed);
    sprof_str_append(&str, "else");
    CU_ASSERT_PTR_EQUAL(str.text, memory);
    sprof_str_release(&str);
}

static void test_taking(void)
{
    struct sprof_str str = {0};
    char *nothing = sprof_str_take(&str);
    CU_ASSERT_STRING_EQUAL(nothing, "");
    sprof_str_append(&str, "mine");
    char *mine = sprof_str_take(&str);
    CU_ASSERT_STRING_EQUAL(mine, "mine");
    CU_ASSERT_PTR_NULL(str.text);
    CU_ASSERT_EQUAL(str.length, 0);
    free(nothing);
    free(mine);
    sprof_str_release(&str);
}

static void test_impossible_size_changes_nothing(void)
{
    struct sprof_str str = {0};
    sprof_str_append(&str, "kept");
    CU_ASSERT_EQUAL(sprof_str_append_bytes(&str, "x", SIZE_MAX / 2), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(sprof_str_append_bytes(&str, "x", SIZE_MAX), SPROF_ENOMEM);
    CU_ASSERT_TRUE(str.failed);
    CU_ASSERT_STRING_EQUAL(str.text, "kept");
    sprof_str_release(&str);
}

void sprof_suite_base_str(void);
void sprof_suite_base_str(void)
{
    CU_pSuite suite = CU_add_suite("base/str", NULL, NULL);
    CU_add_test(suite, "appending", test_appending);
    CU_add_test(suite, "growing", test_growing);
    CU_add_test(suite, "bytes may be NUL", test_bytes_may_be_nul);
    CU_add_test(suite, "clear keeps the memory", test_clear_keeps_the_memory);
    CU_add_test(suite, "taking", test_taking);
    CU_add_test(suite, "an impossible size changes nothing", test_impossible_size_changes_nothing);
}
