/* Texts from outside for terminals and for comma-separated values. */
#include "base/utf8.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char *written(void (*put)(FILE *, const char *), const char *text)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    put(out, text);
    fclose(out);
    return got;
}

static void check_clean(const char *text, const char *expected)
{
    struct sprof_str out = {0};
    CU_ASSERT_EQUAL(sprof_utf8_clean(&out, text), 0);
    CU_ASSERT_STRING_EQUAL(out.text, expected);
    sprof_str_release(&out);
    char *put = written(sprof_utf8_put, text);
    CU_ASSERT_STRING_EQUAL(put, expected);
    free(put);
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

static void check_csv(const char *text, const char *expected)
{
    char *put = written(sprof_utf8_put_csv, text);
    CU_ASSERT_STRING_EQUAL(put, expected);
    free(put);
}

static void test_terminals_obey_no_csv(void)
{
    char got[64] = "";
    const int control = posix_openpt(O_RDWR | O_NOCTTY);
    if (control < 0 || grantpt(control) || unlockpt(control))
        return; /* no terminals here */
    const int fd = open(ptsname(control), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    FILE *terminal = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(terminal);
    sprof_utf8_put_csv(terminal, "a\033[31m\r\t\"\xc2\x9b");
    fflush(terminal);
    const char expected[] = "\"a" BAD "[31m" BAD "\t\"\"" BAD "\"";
    for (size_t taken = 0; taken < sizeof expected - 1;) { /* the kernel passes it in pieces */
        const ssize_t count = read(control, got + taken, sizeof got - 1 - taken);
        CU_ASSERT_FATAL(count > 0);
        taken += (size_t)count;
    }
    CU_ASSERT_STRING_EQUAL(got, expected);
    fclose(terminal);
    close(control);
}

static void test_fields_of_csv_are_valid(void)
{
    check_csv("", "");
    check_csv("größe λ", "größe λ");
    check_csv("a,\"b\"", "\"a,\"\"b\"\"\"");
    check_csv("a\nb", "\"a\nb\"");
    check_csv("\033[31m", "\033[31m"); /* data, and no terminal's */
    check_csv("\xff,\xe2\x80", "\"" BAD "," BAD BAD "\"");
}

void sprof_suite_base_utf8(void);
void sprof_suite_base_utf8(void)
{
    CU_pSuite suite = CU_add_suite("base/utf8", NULL, NULL);
    CU_add_test(suite, "valid text stays", test_valid_text_stays);
    CU_add_test(suite, "what a terminal would obey goes", test_what_a_terminal_would_obey_goes);
    CU_add_test(suite, "invalid bytes go one by one", test_invalid_bytes_go_one_by_one);
    CU_add_test(suite, "fields of CSV", test_fields_of_csv_are_valid);
    CU_add_test(suite, "terminals obey no CSV", test_terminals_obey_no_csv);
}
