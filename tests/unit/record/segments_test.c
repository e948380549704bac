#include "record/segments.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static int make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/sprof-segments-XXXXXX");
    return !mkdtemp(directory);
}

static int remove_directory(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void write_file(const char *name, size_t size)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(ftruncate(fileno(file), (off_t)size), 0);
    fclose(file);
}

static void test_a_name_says_the_time_in_utc(void)
{
    char name[32];
    uint64_t start_ns;
    record_segment_name(1795892580123456789, name);
    CU_ASSERT_STRING_EQUAL(name, "20261128T190300.123Z.db");
    CU_ASSERT_TRUE_FATAL(record_segment_parse(name, &start_ns));
    CU_ASSERT_EQUAL(start_ns, 1795892580123000000);
}

static void test_other_names_are_no_segments(void)
{
    static const char *const names[] = {"lock",
                                        "20261128T190300.123Z.db-wal",
                                        "20261128T190300.123Z.db.damaged",
                                        "20261128T190300.12Z.db",
                                        "20261328T190300.123Z.db",
                                        "20261128T190300.123Z",
                                        "+0261128T190300.123Z.db",
                                        "00000101T000000.000Z.db",
                                        ""};
    uint64_t start_ns;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (record_segment_parse(names[i], &start_ns))
            CU_FAIL(names[i]);
}

static void test_the_list_is_in_order_of_time(void)
{
    struct record_segments segments;
    struct sprof_error error;
    CU_ASSERT_EQUAL_FATAL(make_directory(), 0);
    write_file("20261128T190300.000Z.db", 3000);
    write_file("20251231T235959.999Z.db", 1000);
    write_file("20261128T190200.000Z.db", 2000);
    write_file("20261128T190200.000Z.db-wal", 500);
    write_file("lock", 0);
    CU_ASSERT_EQUAL_FATAL(record_segments_list(&segments, directory, &error), 0);
    CU_ASSERT_EQUAL_FATAL(segments.list.count, 3);
    CU_ASSERT_STRING_EQUAL(segments.list.items[0].name, "20251231T235959.999Z.db");
    CU_ASSERT_EQUAL(segments.list.items[1].bytes, 2500);
    CU_ASSERT_STRING_EQUAL(segments.list.items[2].name, "20261128T190300.000Z.db");
    record_segments_release(&segments);
    CU_ASSERT_EQUAL(record_segments_list(&segments, "/nonexistent/x", &error), SPROF_ENOTFOUND);
    remove_directory();
}

/* Of four segments, the newest of which began at `newest_ns`, and each other a minute earlier. */
static size_t left_after_trim(uint64_t newest_ns, struct record_keep keep,
                              struct record_written written)
{
    struct record_segments segments;
    struct sprof_error error;
    size_t removed = 0, left;
    CU_ASSERT_EQUAL_FATAL(make_directory(), 0);
    for (uint64_t minutes = 0; minutes < 4; minutes++) {
        char name[32];
        record_segment_name(newest_ns - minutes * 60000000000, name);
        write_file(name, 1000);
    }
    CU_ASSERT_EQUAL(record_segments_trim(directory, &keep, &written, &removed, &error), 0);
    CU_ASSERT_EQUAL_FATAL(record_segments_list(&segments, directory, &error), 0);
    left = segments.list.count;
    CU_ASSERT_EQUAL(left + removed, 4);
    record_segments_release(&segments);
    remove_directory();
    return left;
}

static void test_what_is_old_or_too_much_goes(void)
{
    const struct record_written none = {0};
    const uint64_t minute_ns = 60000000000, ms_ns = 1000000;
    const uint64_t newest_ns = sprof_clock_realtime_ns() / ms_ns * ms_ns - minute_ns;
    const struct record_keep all = {0}, few = {.ns = 1, .bytes = 1};
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, all, none), 4);
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, (struct record_keep){.ns = minute_ns * 5 / 2}, none),
                    2);
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, (struct record_keep){.bytes = 3000}, none), 3);
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, (struct record_keep){.bytes = 2999}, none), 2);
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, few, none), 0);
    /* What is being written stays, and nothing between. */
    const struct record_written written = {{newest_ns - 3 * minute_ns, newest_ns}, 2};
    CU_ASSERT_EQUAL(left_after_trim(newest_ns, few, written), 2);
}

/* The clock was set back: segments of before lie ahead, and go before those of now. */
static void test_segments_ahead_of_the_clock_are_the_oldest(void)
{
    const struct record_keep keep = {.bytes = 2000};
    const uint64_t minute_ns = 60000000000;
    const uint64_t now_ns = sprof_clock_realtime_ns() / 1000000 * 1000000; /* as names are */
    const uint64_t starts_ns[] = {now_ns - 2 * minute_ns, now_ns - minute_ns,
                                  now_ns + 60 * minute_ns, now_ns + 61 * minute_ns};
    const struct record_written written = {{now_ns + 60 * minute_ns}, 1}, none = {0};
    struct record_segments segments;
    struct sprof_error error;
    size_t removed = 0;
    char names[4][32];
    CU_ASSERT_EQUAL_FATAL(make_directory(), 0);
    for (size_t i = 0; i < 4; i++) {
        record_segment_name(starts_ns[i], names[i]);
        write_file(names[i], 1000);
    }
    /* The clock may have been set while one was written. */
    CU_ASSERT_EQUAL(record_segments_drop_oldest(directory, &written, &error), 1);
    CU_ASSERT_EQUAL_FATAL(record_segments_list(&segments, directory, &error), 0);
    CU_ASSERT_EQUAL_FATAL(segments.list.count, 3);
    CU_ASSERT_STRING_EQUAL(segments.list.items[2].name, names[2]);
    record_segments_release(&segments);
    CU_ASSERT_EQUAL(record_segments_trim(directory, &keep, &none, &removed, &error), 0);
    CU_ASSERT_EQUAL(removed, 1);
    CU_ASSERT_EQUAL_FATAL(record_segments_list(&segments, directory, &error), 0);
    CU_ASSERT_EQUAL_FATAL(segments.list.count, 2);
    CU_ASSERT_STRING_EQUAL(segments.list.items[1].name, names[1]);
    record_segments_release(&segments);
    remove_directory();
}

static void test_one_recorder_at_a_time(void)
{
    struct sprof_error error;
    struct sprof_own_directory first, second;
    char below[80];
    CU_ASSERT_EQUAL_FATAL(make_directory(), 0);
    snprintf(below, sizeof below, "%s/new/", directory);
    CU_ASSERT_EQUAL_FATAL(record_segments_lock(below, &first, &error), 0);
    CU_ASSERT_EQUAL(record_segments_lock(below, &second, &error), SPROF_ESTATE);
    sprof_own_directory_release(&first);
    CU_ASSERT_EQUAL_FATAL(record_segments_lock(below, &first, &error), 0);
    sprof_own_directory_release(&first);
    CU_ASSERT_EQUAL(chmod(below, 0720), 0);
    CU_ASSERT_EQUAL(record_segments_lock(below, &second, &error), SPROF_EPERMISSION);
    remove_directory();
}

void sprof_suite_record_segments(void);
void sprof_suite_record_segments(void)
{
    CU_pSuite suite = CU_add_suite("record/segments", NULL, NULL);
    CU_add_test(suite, "a name says the time in UTC", test_a_name_says_the_time_in_utc);
    CU_add_test(suite, "other names are no segments", test_other_names_are_no_segments);
    CU_add_test(suite, "the list is in order of time", test_the_list_is_in_order_of_time);
    CU_add_test(suite, "what is old, or too much, goes", test_what_is_old_or_too_much_goes);
    CU_add_test(suite, "segments ahead of the clock are the oldest",
                test_segments_ahead_of_the_clock_are_the_oldest);
    CU_add_test(suite, "one recorder at a time", test_one_recorder_at_a_time);
}
