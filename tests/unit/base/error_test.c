#include "base/base.h"

#include <CUnit/CUnit.h>
#include <errno.h>

static void test_set_fills_and_returns_the_code(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(sprof_error_set(&error, SPROF_EIO, ENOSPC, "cannot write %s: %d", "x.db", 7),
                    SPROF_EIO);
    CU_ASSERT_EQUAL(error.code, SPROF_EIO);
    CU_ASSERT_EQUAL(error.errnum, ENOSPC);
    CU_ASSERT_STRING_EQUAL(error.message, "cannot write x.db: 7");
}

static void test_without_an_error_the_code_passes(void)
{
    CU_ASSERT_EQUAL(sprof_error_set(NULL, SPROF_EFORMAT, 0, "%s", "x"), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(sprof_error_memory(NULL), SPROF_ENOMEM);
}

static void test_long_messages_are_cut(void)
{
    struct sprof_error error = {0};
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sprof_error_set(&error, SPROF_EUSAGE, 0, "%s", text);
    CU_ASSERT_EQUAL(strlen(error.message), sizeof error.message - 1);
}

static void test_memory(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(sprof_error_memory(&error), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOMEM);
    CU_ASSERT_STRING_EQUAL(error.message, "out of memory");
}

static void test_every_code_has_a_text_of_its_own(void)
{
    for (int code = SPROF_OK; code >= SPROF_ENOEXEC; code--) {
        CU_ASSERT_STRING_NOT_EQUAL(sprof_code_text(code), "unknown error");
        for (int other = SPROF_OK; other > code; other--)
            CU_ASSERT_STRING_NOT_EQUAL(sprof_code_text(code), sprof_code_text(other));
    }
    CU_ASSERT_STRING_EQUAL(sprof_code_text(SPROF_ENOEXEC - 1), "unknown error");
    CU_ASSERT_STRING_EQUAL(sprof_code_text(1), "unknown error");
}

void sprof_suite_base_error(void);
void sprof_suite_base_error(void)
{
    CU_pSuite suite = CU_add_suite("base/error", NULL, NULL);
    CU_add_test(suite, "set fills and returns the code", test_set_fills_and_returns_the_code);
    CU_add_test(suite, "without an error the code passes", test_without_an_error_the_code_passes);
    CU_add_test(suite, "long messages are cut", test_long_messages_are_cut);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "every code has a text", test_every_code_has_a_text_of_its_own);
}
