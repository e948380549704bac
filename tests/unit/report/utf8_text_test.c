#include "report/utf8_text.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void check_shortened(const char *text, size_t width, const char *expected)
{
    struct sprof_str out = {0};
    CU_ASSERT_EQUAL(sprof_str_append(&out, ""), 0);
    CU_ASSERT_EQUAL(report_utf8_shortened(&out, text, width), 0);
    CU_ASSERT_STRING_EQUAL(out.text, expected);
    CU_ASSERT_TRUE(report_utf8_width(out.text) <= width);
    sprof_str_release(&out);
}

static void test_the_middle_is_shortened(void)
{
    check_shortened("abcdefghij", 10, "abcdefghij");
    check_shortened("abcdefghij", 7, "abcd…ij");
    check_shortened("abcdefghij", 1, "…");
    check_shortened("abcdefghij", 0, "");
    check_shortened("äöüßéèêç", 5, "äöü…ç");
}

static void test_no_width_breaks_a_sequence(void)
{
    const char *text = "函数🚀größeλ函数🚀größeλ";
    for (size_t width = 0; width <= report_utf8_width(text); width++) {
        struct sprof_str cut = {0}, again = {0};
        CU_ASSERT_EQUAL(sprof_str_append(&cut, ""), 0);
        CU_ASSERT_EQUAL(report_utf8_shortened(&cut, text, width), 0);
        CU_ASSERT_EQUAL(sprof_utf8_clean(&again, cut.text), 0);
        CU_ASSERT_STRING_EQUAL(again.text, cut.text);
        CU_ASSERT_EQUAL(report_utf8_width(cut.text), width);
        sprof_str_release(&cut);
        sprof_str_release(&again);
    }
}

static void test_filling(void)
{
    struct sprof_str out = {0};
    report_utf8_left(&out, "größe", 7);
    report_utf8_right(&out, "7", 3);
    CU_ASSERT_STRING_EQUAL(out.text, "größe    7");
    sprof_str_release(&out);
}

void sprof_suite_report_utf8_text(void);
void sprof_suite_report_utf8_text(void)
{
    CU_pSuite suite = CU_add_suite("report/utf8_text", NULL, NULL);
    CU_add_test(suite, "the middle is shortened", test_the_middle_is_shortened);
    CU_add_test(suite, "no width breaks a sequence", test_no_width_breaks_a_sequence);
    CU_add_test(suite, "filling", test_filling);
}
