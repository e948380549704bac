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

/* A run of so many hours that began at a local time. */
static struct store_run run_from(int month, int day, int hour, int minute, double hours)
{
    struct tm begin = {.tm_year = 126,
                       .tm_mon = month - 1,
                       .tm_mday = day,
                       .tm_hour = hour,
                       .tm_min = minute,
                       .tm_isdst = -1};
    return (struct store_run){.duration_ns = (uint64_t)(hours * 3600) * second_ns,
                              .start_realtime_ns = (uint64_t)mktime(&begin) * second_ns};
}

static void refuse_time(const char *text, const struct store_run *run, const char *message)
{
    struct report_time_range range;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_time_range_parse(&range, text, run, 0, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, message));
}

/* Local time is Berlin's, whose clocks change on March 29 and October 25. */
static void test_clock_of_other_days(void)
{
    const char *before = getenv("TZ");
    char *kept = before ? strdup(before) : NULL;
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    const struct store_run night = run_from(6, 10, 18, 0, 15), days = run_from(6, 10, 18, 0, 50);
    check_time("06:10,06:20", &night, 43800, 44400);
    check_time("23:50,00:10", &night, 21000, 22200);
    check_time("17:00,19:00", &night, 0, 3600);
    check_time("08:00,10:00", &night, 50400, 57600);
    check_time(",06:20", &night, 0, 44400);
    check_time(",10:00", &night, 0, 57600);
    refuse_time("13:00,", &night, "from Jun 10 18:00:00 to Jun 11 09:00:00");
    refuse_time("13:00,17:59", &night, "from Jun 10 18:00:00 to Jun 11 09:00:00");
    refuse_time(",17:00", &night, "Jun 10 18:00:00");
    check_time("06:10,06:20", &days, 43800, 44400); /* the first of two */
    check_time("17:00,17:30", &days, 82800, 84600);
    struct report_time_range range;
    CU_ASSERT_EQUAL(report_time_range_parse(&range, "13:00,", &days, 0, NULL), 0);
    CU_ASSERT_EQUAL(range.from_ns, 68400 * second_ns);
    CU_ASSERT_EQUAL(range.to_ns, UINT64_MAX);
    /* A time without seconds is that minute. */
    struct store_run later = run_from(6, 10, 13, 0, 1);
    later.start_realtime_ns += 30 * second_ns;
    CU_ASSERT_EQUAL(report_time_range_parse(&range, "13:00,", &later, 0, NULL), 0);
    CU_ASSERT_EQUAL(range.from_ns, 0);
    refuse_time("13:00:10,", &later, "from Jun 10 13:00:30 to Jun 10 14:00:30");
    /* Nights of 23 and 25 hours; 02:30 is there once more, and the first of both is taken. */
    const struct store_run spring = run_from(3, 28, 20, 0, 12),
                           autumn = run_from(10, 24, 20, 0, 14);
    check_time("06:00,06:10", &spring, 32400, 33000);
    check_time("06:00,06:10", &autumn, 39600, 40200);
    check_time("02:30,02:40", &autumn, 23400, 24000);
    if (kept)
        setenv("TZ", kept, 1);
    else
        unsetenv("TZ");
    tzset();
    free(kept);
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
    request.selection.time = "0.00000001,0.00000002"; /* the first instant counts, the last not */
    CU_ASSERT_EQUAL(report_write(captured->out, example.store, &request, NULL), 0);
    assert_text(captured_text(captured), "exclusive_samples,exclusive_percent_of_all,function\r\n"
                                         "1,16.66666667,A1\r\n");
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
    CU_add_test(suite, "clock of other days", test_clock_of_other_days);
    CU_add_test(suite, "samples of a stretch", test_samples_of_a_stretch);
}
