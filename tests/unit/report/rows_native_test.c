#include "report/export/rows.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

/* Whether a table becomes these bytes. */
static bool becomes(const char *table, const char *bytes, size_t size)
{
    char *made = NULL;
    size_t made_size = 0;
    struct sprof_error error = {0};
    FILE *rows = tmpfile(), *out = open_memstream(&made, &made_size);
    CU_ASSERT_FATAL(rows && out);
    fputs(table, rows);
    CU_ASSERT_EQUAL(report_rows_native(out, rows, &error), 0);
    fclose(rows);
    fclose(out);
    const bool same = made_size == size && !memcmp(made, bytes, size);
    free(made);
    return same;
}
#define BECOMES(table, bytes) CU_ASSERT_TRUE(becomes(table, bytes, sizeof(bytes) - 1))

static void test_texts_and_numbers(void)
{
    BECOMES("name\tline\n", "");
    BECOMES("name\tnamed\nf\\tg\\\\\t1\n\t0\n", "\x02\x02"
                                                "\x04name\x06String\x04"
                                                "f\tg\\\x00"
                                                "\x05named\x05UInt8\x01\x00");
    BECOMES("hz\n258\n", "\x01\x01\x02hz\x06UInt32\x02\x01\x00\x00");
    BECOMES("weight\n18446744073709551615\n",
            "\x01\x01\x06weight\x06UInt64\xff\xff\xff\xff\xff\xff\xff\xff");
    BECOMES("chance\n1\n", "\x01\x01\x06"
                           "chance\x07"
                           "Float64\x00\x00\x00\x00\x00\x00\xf0\x3f");
    BECOMES("time\n1970-01-02 00:00:01\n", "\x01\x01\x04time\x0f"
                                           "DateTime('UTC')\x81\x51\x01\x00");
}

/* Of arrays and maps, the ends of all rows come first. */
static void test_arrays_and_maps(void)
{
    BECOMES("functions\n[7,1]\n[]\n", "\x01\x02\x09"
                                      "functions\x0d"
                                      "Array(UInt64)"
                                      "\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
                                      "\x07\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0");
    BECOMES("labels\n{'a':'it\\'s','b\\\\':''}\n{}\n", "\x01\x02\x06labels\x13Map(String, String)"
                                                       "\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"
                                                       "\x01"
                                                       "a\x02"
                                                       "b\\\x04it's\x00");
}

void sprof_suite_report_rows_native(void);
void sprof_suite_report_rows_native(void)
{
    CU_pSuite suite = CU_add_suite("report/rows_native", NULL, NULL);
    CU_add_test(suite, "texts and numbers", test_texts_and_numbers);
    CU_add_test(suite, "arrays and maps", test_arrays_and_maps);
}
