#include "report/error_text.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_codes_without_a_message(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_error_code(0, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    CU_ASSERT_EQUAL(report_error_code(SPROF_EFORMAT, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "the recording is damaged"));
    CU_ASSERT_EQUAL(report_error_code(SPROF_ENOMEM, &error), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOMEM);
    CU_ASSERT_EQUAL(report_error_code(SPROF_EFORMAT, NULL), SPROF_EFORMAT);
}

static void test_messages_are_kept(void)
{
    struct sprof_error error = {0};
    sprof_error_set(&error, SPROF_EFORMAT, 0, "no database");
    CU_ASSERT_EQUAL(report_error_code(SPROF_EFORMAT, &error), SPROF_EFORMAT);
    CU_ASSERT_STRING_EQUAL(error.message, "no database");
}

static void test_a_text_becomes_the_message(void)
{
    struct sprof_error error = {0};
    struct sprof_str text = {0};
    sprof_str_append(&text, "100 % of nothing");
    CU_ASSERT_EQUAL(report_error_text(&error, SPROF_ENOTFOUND, &text), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOTFOUND);
    CU_ASSERT_STRING_EQUAL(error.message, "100 % of nothing");
    CU_ASSERT_PTR_NULL(text.text);
}

static void test_a_text_that_lacks_something(void)
{
    struct sprof_error error = {0};
    struct sprof_str text = {0};
    sprof_str_append(&text, "half of");
    text.failed = 1;
    CU_ASSERT_EQUAL(report_error_text(&error, SPROF_ENOTFOUND, &text), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(error.code, SPROF_ENOMEM);
    CU_ASSERT_PTR_NULL(text.text);
}

void sprof_suite_report_error_text(void);
void sprof_suite_report_error_text(void)
{
    CU_pSuite suite = CU_add_suite("report/error_text", NULL, NULL);
    CU_add_test(suite, "codes without a message", test_codes_without_a_message);
    CU_add_test(suite, "messages are kept", test_messages_are_kept);
    CU_add_test(suite, "a text becomes the message", test_a_text_becomes_the_message);
    CU_add_test(suite, "a text that lacks something", test_a_text_that_lacks_something);
}
