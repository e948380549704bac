#include "report/number_format.h"

#include <CUnit/CUnit.h>

static void test_percent_rounds_to_the_nearest(void)
{
    static const struct {
        uint64_t part, whole;
        const char *texts[3];
    } cases[] = {
        {300, 510, {"59 %", "58.8 %", "58.82 %"}},
        {200, 510, {"39 %", "39.2 %", "39.22 %"}},
        {10, 510, {"2 %", "2.0 %", "1.96 %"}},
        {1, 8, {"13 %", "12.5 %", "12.50 %"}},
        {3, 8, {"38 %", "37.5 %", "37.50 %"}},
        {1, 6, {"17 %", "16.7 %", "16.67 %"}},
        {0, 6, {"0 %", "0.0 %", "0.00 %"}},
        {6, 6, {"100 %", "100.0 %", "100.00 %"}},
        {0, 0, {"0 %", "0.0 %", "0.00 %"}},
        {UINT64_MAX - 1, UINT64_MAX, {"100 %", "100.0 %", "100.00 %"}},
    };
    char buffer[NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned decimals = 0; decimals < 3; decimals++)
            CU_ASSERT_STRING_EQUAL(
                report_number_percent(buffer, cases[i].part, cases[i].whole, decimals),
                cases[i].texts[decimals]);
}

static void test_quality_is_never_rounded_to_perfect(void)
{
    char buffer[NUMBER_BYTES];
    CU_ASSERT_STRING_EQUAL(report_number_quality(buffer, 5, 5), "100 %");
    CU_ASSERT_STRING_EQUAL(report_number_quality(buffer, 0, 5), "0 %");
    CU_ASSERT_STRING_EQUAL(report_number_quality(buffer, 999999, 1000000), "99.99 %");
    CU_ASSERT_STRING_EQUAL(report_number_quality(buffer, 1, 1000000), "0.01 %");
    CU_ASSERT_STRING_EQUAL(report_number_quality(buffer, 9997, 10000), "99.97 %");
}

static void test_times(void)
{
    const uint64_t second = 1000000000, millisecond = 1000000, microsecond = 1000;
    char buffer[NUMBER_BYTES];
    CU_ASSERT_EQUAL(report_number_time_unit(second), second);
    CU_ASSERT_EQUAL(report_number_time_unit(second - 1), millisecond);
    CU_ASSERT_EQUAL(report_number_time_unit(0), millisecond);
    CU_ASSERT_EQUAL(report_number_time_unit(millisecond), millisecond);
    CU_ASSERT_EQUAL(report_number_time_unit(millisecond - 1), microsecond);
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 3625000000, second), "3.63 s");
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 0, second), "0.00 s");
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 800000, second), "0.8 ms");
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 4000000, second), "4.0 ms");
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 12340000, millisecond), "12.3 ms");
    CU_ASSERT_STRING_EQUAL(report_number_time(buffer, 4550, microsecond), "4.6 µs");
}

static void test_sizes(void)
{
    char buffer[NUMBER_BYTES];
    CU_ASSERT_STRING_EQUAL(report_number_size(buffer, 640000), "0.6 MB");
    CU_ASSERT_STRING_EQUAL(report_number_size(buffer, 45056), "45 kB");
    CU_ASSERT_STRING_EQUAL(report_number_size(buffer, 1234567890), "1234.6 MB");
}

static void test_shares(void)
{
    CU_ASSERT_DOUBLE_EQUAL(report_number_share(1, 3), 33.3333333333, 1e-9);
    CU_ASSERT_EQUAL(report_number_share(1, 0), 0);
}

void sprof_suite_report_number_format(void);
void sprof_suite_report_number_format(void)
{
    CU_pSuite suite = CU_add_suite("report/number_format", NULL, NULL);
    CU_add_test(suite, "percent rounds to the nearest", test_percent_rounds_to_the_nearest);
    CU_add_test(suite, "quality is never rounded to perfect",
                test_quality_is_never_rounded_to_perfect);
    CU_add_test(suite, "times", test_times);
    CU_add_test(suite, "sizes", test_sizes);
    CU_add_test(suite, "shares", test_shares);
}
