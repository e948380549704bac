/* Rows that a command gives, in every format. */
#include "tests/unit/report/recorded.h"

static void expect(const char *format, bool full_names, const char *expected)
{
    static const struct report_listing_column columns[] = {{"name", REPORT_CELL_FUNCTION, false},
                                                           {"calls", REPORT_CELL_NUMBER, false},
                                                           {"why", REPORT_CELL_TEXT, true}};
    struct captured *captured = capture();
    struct report_style style = style_of(format);
    struct report_listing *listing = report_listing_new(columns, 3);
    struct sprof_error error = {0};
    style.full_names = full_names;
    report_listing_row(listing, (const char *[]){"a<int>::b(char)", "7", "x,y"});
    report_listing_row(listing, (const char *[]){"ü\033", "", "\""});
    report_listing_row(listing, (const char *[]){"\xff", "1.5", NULL});
    CU_ASSERT_EQUAL(report_listing_rows(listing), 3);
    CU_ASSERT_EQUAL(report_listing_write(listing, captured->out, &style, &error), 0);
    CU_ASSERT_STRING_EQUAL(captured_text(captured), expected);
    report_listing_free(listing);
    capture_free(captured);
}

static void test_formats(void)
{
    expect("text", false,
           "  name  calls\n"
           "  a::b      7\n"
           "  ü\uFFFD        –\n"
           "  \uFFFD       1.5\n");
    expect("text", true,
           "  name             calls\n"
           "  a<int>::b(char)      7\n"
           "  ü\uFFFD                   –\n"
           "  \uFFFD                  1.5\n");
    expect("csv", false,
           "name,calls,why\r\na<int>::b(char),7,\"x,y\"\r\nü\uFFFD,,\"\"\"\"\r\n\uFFFD,1.5,\r\n");
    expect("markdown", false,
           "| name | calls |\n|---|--:|\n| a::b | 7 |\n| ü\uFFFD | – |\n| \uFFFD | 1.5 |\n");
}

static void test_numbers_stay_numbers_in_json(void)
{
    expect(
        "json", false,
        "[\n"
        "  {\n    \"name\": \"a<int>::b(char)\",\n    \"calls\": 7,\n    \"why\": \"x,y\"\n  },\n"
        "  {\n    \"name\": \"ü\uFFFD\",\n    \"calls\": null,\n    \"why\": \"\\\"\"\n  },\n"
        "  {\n    \"name\": \"\uFFFD\",\n    \"calls\": 1.5,\n    \"why\": null\n  }\n]\n");
}

void sprof_suite_report_listing(void);
void sprof_suite_report_listing(void)
{
    CU_pSuite suite = CU_add_suite("report/listing", NULL, NULL);
    CU_add_test(suite, "formats", test_formats);
    CU_add_test(suite, "numbers stay numbers in JSON", test_numbers_stay_numbers_in_json);
}
