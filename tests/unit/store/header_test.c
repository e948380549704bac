#include "store/header.h"
#include "tests/unit/store/recording.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void write_file(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_EQUAL(write(file, bytes, size), (ssize_t)size);
    close(file);
}

static struct store_file look(const struct place *place)
{
    struct store_file file;
    CU_ASSERT_EQUAL(store_file_look(place->path, &file, NULL), 0);
    return file;
}

static int record_and_die(const struct place *place)
{
    example_create(place);
    raise(SIGKILL);
    return 0;
}

static void test_kinds(void)
{
    const struct place place = place_make();
    CU_ASSERT_EQUAL(look(&place).kind, STORE_FILE_ABSENT);
    write_file(place.path, "", 0);
    CU_ASSERT_EQUAL(look(&place).kind, STORE_FILE_EMPTY);
    unlink(place.path);
    example_make(&place);
    CU_ASSERT_EQUAL(look(&place).kind, STORE_FILE_RECORDING);
    place_remove(&place);
}

static void test_logs(void)
{
    const struct place place = place_make();
    example_make(&place);
    CU_ASSERT_FALSE(look(&place).has_log);
    write_file(place_with(&place, "-journal"), "", 0);
    CU_ASSERT_FALSE(look(&place).has_log);
    write_file(place_with(&place, "-journal"), "x", 1);
    CU_ASSERT_TRUE(look(&place).has_log);
    unlink(place_with(&place, "-journal"));
    unlink(place.path);
    CU_ASSERT_EQUAL(in_child(record_and_die, &place), -1);
    CU_ASSERT_TRUE(look(&place).has_log);
    unlink(place_with(&place, "-wal"));
    CU_ASSERT_TRUE(look(&place).has_log); /* its header says that there was one */
    place_remove(&place);
}

/* A log may hold the pages that the file lacks. */
static void test_short_file_beside_a_log(void)
{
    const struct place place = place_make();
    struct store_file file;
    example_make(&place);
    CU_ASSERT_EQUAL(truncate(place.path, 8192), 0);
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), SPROF_EFORMAT);
    write_file(place_with(&place, "-wal"), "x", 1);
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), 0);
    place_remove(&place);
}

static void test_hostile_headers(void)
{
    const struct place place = place_make();
    struct store_file file;
    uint8_t header[100] = "SQLite format 3";
    write_file(place.path, header, sizeof header);
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), SPROF_EFORMAT);
    memcpy(header + 68, "sprf", 4);
    memset(header + 16, 0xff, 2); /* page size */
    memset(header + 28, 0xff, 4); /* page count */
    write_file(place.path, header, sizeof header);
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), SPROF_EFORMAT);
    write_file(place.path, header, 16);
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), SPROF_EFORMAT);
    place_remove(&place);
}

void sprof_suite_store_header(void);
void sprof_suite_store_header(void)
{
    CU_pSuite suite = CU_add_suite("store/header", NULL, NULL);
    CU_add_test(suite, "kinds of files", test_kinds);
    CU_add_test(suite, "logs beside the file", test_logs);
    CU_add_test(suite, "a short file beside a log", test_short_file_beside_a_log);
    CU_add_test(suite, "hostile headers", test_hostile_headers);
}
