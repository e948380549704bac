#include "report/utf8_text.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void check_clean(const char *text, const char *expected)
{
    struct sprof_str out = {0};
    CU_ASSERT_EQUAL(report_utf8_clean(&out, text), 0);
    CU_ASSERT_STRING_EQUAL(out.text, expected);
    sprof_str_release(&out);
}

#define BAD "\xef\xbf\xbd"

static void test_valid_text_stays(void)
{
    check_clean("", "");
    check_clean("std::vector<int>", "std::vector<int>");
    check_clean("größe λ 函数 🚀", "größe λ 函数 🚀");
}

static void test_what_a_terminal_would_obey_goes(void)
{
    check_clean("a\033[31mb", "a" BAD "[31mb");
    check_clean("a\nb\tc\x7f", "a" BAD "b" BAD "c" BAD);
    check_clean("\xc2\x9b"
                "1m",
                BAD "1m"); /* C1: CSI */
    check_clean("a\xe2\x80\xae"
                "b",
                "a" BAD "b"); /* right-to-left override */
    check_clean("a\xe2\x80\xa6", "a…");
}

static void test_invalid_bytes_go_one_by_one(void)
{
    check_clean("\xff"
                "a",
                BAD "a");
    check_clean("\xc0\xaf", BAD BAD);         /* overlong */
    check_clean("\xed\xa0\x80", BAD BAD BAD); /* surrogate */
    check_clean("\xf4\x90\x80\x80", BAD BAD BAD BAD);
    check_clean("a\xe2\x80", "a" BAD BAD); /* cut off */
    check_clean("\xf0\x9f\x9a", BAD BAD BAD);
}

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
        CU_ASSERT_EQUAL(report_utf8_clean(&again, cut.text), 0);
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
    CU_add_test(suite, "valid text stays", test_valid_text_stays);
    CU_add_test(suite, "what a terminal would obey goes", test_what_a_terminal_would_obey_goes);
    CU_add_test(suite, "invalid bytes go one by one", test_invalid_bytes_go_one_by_one);
    CU_add_test(suite, "the middle is shortened", test_the_middle_is_shortened);
    CU_add_test(suite, "no width breaks a sequence", test_no_width_breaks_a_sequence);
    CU_add_test(suite, "filling", test_filling);
}
