/* Lists of CPUs and stretches of time. */
#include "report/dataset_parts.h"
#include "tests/unit/report/recorded.h"

#include <time.h>

static void test_cpus(void)
{
    struct report_cpu_set set;
    CU_ASSERT_EQUAL(report_cpu_set_parse(&set, "0-3,7,64", NULL), 0);
    CU_ASSERT_EQUAL(set.bits[0], 0x8f);
    CU_ASSERT_EQUAL(set.bits[1], 1);
    static const char *const wrong[] = {"",   "a",  "1-",  "3-1",   "1,",
                                        ",1", "-1", "1 2", "99999", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(report_cpu_set_parse(&set, wrong[i], &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "0-3,7"));
    }
}

static const uint64_t second_ns = 1000000000;

static void check_time(const char *text, const struct store_run *run, double from, double to)
{
    struct report_time_range range = {0};
    CU_ASSERT_EQUAL(report_time_range_parse(&range, text, run, 0, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL((double)range.from_ns / 1e9, from, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL((double)range.to_ns / 1e9, to, 1e-6);
}

static void test_seconds_and_parts(void)
{
    const struct store_run run = {.duration_ns = 20 * second_ns};
    check_time("1.5,3", &run, 1.5, 3);
    check_time("1s,2000ms", &run, 1, 2);
    check_time("10%,20%", &run, 2, 4);
    check_time(",50%", &run, 0, 10);
    check_time("0,.5", &run, 0, 0.5);
    struct report_time_range range;
    CU_ASSERT_EQUAL(report_time_range_parse(&range, "5,", &run, 0, NULL), 0);
    CU_ASSERT_EQUAL(range.to_ns, UINT64_MAX);
    CU_ASSERT_EQUAL(report_time_range_parse(&range, "10%,", &run, 3 * second_ns, NULL), 0);
    CU_ASSERT_EQUAL(range.from_ns, 5 * second_ns); /* of what counts, from where that begins */
    static const char *const wrong[] = {"",      ",",           "5",           "a,b",
                                        "3,1",   "2,2",         "1,2,3",       "-1,2",
                                        "nan,1", "14:3x,15:00", "25:00,26:00", "14:00:99,15:00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(report_time_range_parse(&range, wrong[i], &run, 0, &error), SPROF_EUSAGE);
        CU_ASSERT_TRUE(strlen(error.message) > 0);
    }
}

/* A run that began at 23:59:50 local time. */
static void test_clock(void)
{
    struct tm day = {.tm_year = 126,
                     .tm_mon = 5,
                     .tm_mday = 10,
                     .tm_hour = 23,
                     .tm_min = 59,
                     .tm_sec = 50,
                     .tm_isdst = -1};
    const struct store_run run = {.duration_ns = 60 * second_ns,
                                  .start_realtime_ns =
                                      (uint64_t)mktime(&day) * second_ns + second_ns / 2};
    check_time("23:59:55,23:59:58.5", &run, 4.5, 8);
    check_time("23:59,00:00:10", &run, 0, 19.5);
    check_time("23:59:52,30", &run, 1.5, 30);
}

static void test_samples_of_a_stretch(void)
{
    struct captured *captured = capture();
    struct report_request request = {.selection = {.time = "0,0.00000003"},
                                     .table = {.show = "samples,of all,function"},
                                     .style = style_of("csv")};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured_text(captured), "1,16.66666667,A1\r\n"));
    capture_free(captured);
    captured = capture();
    request.selection = (struct report_selection){.cpus = "5"};
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, NULL), 0);
    assert_text(captured_text(captured), "exclusive_samples,exclusive_percent_of_all,function\r\n");
    capture_free(captured);
}

void sprof_suite_report_ranges(void);
void sprof_suite_report_ranges(void)
{
    CU_pSuite suite = CU_add_suite("report/ranges", example_open, example_close);
    CU_add_test(suite, "CPUs", test_cpus);
    CU_add_test(suite, "seconds and parts", test_seconds_and_parts);
    CU_add_test(suite, "clock", test_clock);
    CU_add_test(suite, "samples of a stretch", test_samples_of_a_stretch);
}
