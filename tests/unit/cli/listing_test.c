/* Rows of cells in three formats. */
#include "cli/listing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_column columns[] = {
    {"name", false, 6}, {"calls", true, 5}, {"why", false, 0}};

static void expect(enum cli_format format, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    struct cli_listing listing = {.out = open_memstream(&text, &size),
                                  .format = format,
                                  .columns = columns,
                                  .column_count = 3};
    cli_listing_begin(&listing);
    cli_listing_row(&listing, (const char *[]){"a\"b", "7", "x,y"});
    cli_listing_row(&listing, (const char *[]){"ü\033", "", ""});
    cli_listing_row(&listing, (const char *[]){"\xff\xc3", "1", ""});
    cli_listing_end(&listing);
    fclose(listing.out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}

static void test_formats(void)
{
    expect(CLI_TEXT, "  name    calls  why\n"
                     "  a\"b         7  x,y\n"
                     "  ü\uFFFD             \n"
                     "  \uFFFD\uFFFD          1  \n");
    expect(CLI_CSV, "name,calls,why\r\n\"a\"\"b\",7,\"x,y\"\r\nü\033,,\r\n\uFFFD\uFFFD,1,\r\n");
    expect(CLI_JSON, "[\n {\"name\": \"a\\\"b\", \"calls\": 7, \"why\": \"x,y\"},"
                     "\n {\"name\": \"ü\\u001b\", \"calls\": null, \"why\": \"\"},"
                     "\n {\"name\": \"\uFFFD\uFFFD\", \"calls\": 1, \"why\": \"\"}\n]\n");
}

static void test_names_of_formats(void)
{
    enum cli_format format = CLI_TEXT;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(cli_set_format(&format, "json", &error), 0);
    CU_ASSERT_EQUAL(format, CLI_JSON);
    CU_ASSERT_EQUAL(cli_set_format(&format, "xml", &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "text, csv or json"));
}

void sprof_suite_cli_listing(void);
void sprof_suite_cli_listing(void)
{
    CU_pSuite suite = CU_add_suite("cli/listing", NULL, NULL);
    CU_add_test(suite, "formats", test_formats);
    CU_add_test(suite, "names of formats", test_names_of_formats);
}
