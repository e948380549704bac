#include "recording/writer.h"
#include "tests/unit/skip.h"
#include "tests/unit/store/recording.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TIME_LIMIT_S = 60 };

static struct store *create(const struct place *place)
{
    struct store *store;
    struct sprof_error error = {0};
    if (store_create(&store, place->path, &error)) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    return store;
}

static void add_process(struct recording_writer *writer, uint32_t id)
{
    struct recording_filled *batch = recording_writer_batch(writer);
    char name[32];
    snprintf(name, sizeof name, "process %u", id);
    const struct store_process row = {
        .id = id, .run_id = 1, .pid = (int)id, .name = sprof_arena_text(&batch->arena, name)};
    if (sprof_vec_push(&batch->rows.processes, row))
        abort();
}

static void test_rows_arrive(void)
{
    struct place place = place_make();
    struct store *store = create(&place);
    struct recording_writer writer = {0};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(recording_writer_start(&writer, store, &error), 0);
    const struct store_run run = example_run();
    recording_writer_batch(&writer)->rows.run = &run;
    for (uint32_t i = 1; i <= 500; i++) {
        add_process(&writer, i);
        CU_ASSERT_EQUAL(recording_writer_submit(&writer, &error), 0);
    }
    CU_ASSERT_EQUAL(recording_writer_finish(&writer, &error), 0);
    ASSERT_QUERY(store, "SELECT count(*), min(pid), max(pid) FROM process", "500|1|500");
    ASSERT_QUERY(store, "SELECT count(*) FROM process WHERE name <> 'process ' || pid", "0");
    CU_ASSERT_EQUAL(recording_writer_finish(&writer, &error), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(&place);
}

static void test_finishing_writes_the_rest(void)
{
    struct place place = place_make();
    struct store *store = create(&place);
    struct recording_writer writer = {0};
    CU_ASSERT_EQUAL_FATAL(recording_writer_start(&writer, store, NULL), 0);
    add_process(&writer, 1);
    CU_ASSERT_EQUAL(recording_writer_finish(&writer, NULL), 0);
    ASSERT_QUERY(store, "SELECT pid FROM process", "1");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_zero_is_finished(void)
{
    struct recording_writer writer = {0};
    CU_ASSERT_EQUAL(recording_writer_finish(&writer, NULL), 0);
}

/* A row that the schema refuses. */
static void test_the_first_failure_stays(void)
{
    struct place place = place_make();
    struct store *store = create(&place);
    struct recording_writer writer = {0};
    struct sprof_error error = {0}, last = {0};
    CU_ASSERT_EQUAL_FATAL(recording_writer_start(&writer, store, NULL), 0);
    add_process(&writer, 1);
    CU_ASSERT_EQUAL(recording_writer_submit(&writer, NULL), 0);
    const struct store_module nameless = {.id = 1};
    CU_ASSERT_EQUAL(sprof_vec_push(&recording_writer_batch(&writer)->rows.modules, nameless), 0);
    int result = 0;
    for (int i = 0; i < 10000 && !result; i++) {
        result = recording_writer_submit(&writer, &error);
        usleep(100);
    }
    CU_ASSERT_TRUE(result < 0);
    CU_ASSERT_STRING_NOT_EQUAL(error.message, "");
    add_process(&writer, 2);
    CU_ASSERT_EQUAL(recording_writer_finish(&writer, &last), result);
    CU_ASSERT_STRING_EQUAL(last.message, error.message);
    ASSERT_QUERY(store, "SELECT pid FROM process", "1");
    store_close(store, NULL);
    place_remove(&place);
}

/* == No space == */

/* Writes until it fails. Returns 0 when that was told as it should be and what was committed can be
 * read; else the number of the check that failed. */
static int write_until_full(const struct place *place)
{
    alarm(TIME_LIMIT_S);
    struct store *store = create(place);
    struct recording_writer writer = {0};
    struct sprof_error error = {0}, last = {0};
    int result = recording_writer_start(&writer, store, &error);
    for (uint32_t id = 1; id < 1000000 && !result; id++) {
        add_process(&writer, id);
        if (id % 500 == 0) {
            result = recording_writer_submit(&writer, &error);
            usleep(500);
        }
    }
    if (result >= 0 || !error.message[0])
        return 1;
    if (recording_writer_finish(&writer, &last) != result ||
        strcmp(last.message, error.message) != 0)
        return 2;
    store_close(store, NULL);
    if (store_open_read(&store, place->path, &error))
        return 3;
    const long rows = atol(query_text(store, "SELECT count(*) FROM process"));
    const long newest = atol(query_text(store, "SELECT max(pid) FROM process"));
    store_close(store, NULL);
    return rows > 0 && rows == newest ? 0 : 4;
}

static int with_a_size_limit(const struct place *place)
{
    const struct rlimit limit = {400000, 400000};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) ? 10 : write_until_full(place);
}

static void test_file_size_limit(void)
{
    struct place place = place_make();
    CU_ASSERT_EQUAL(in_child(with_a_size_limit, &place), 0);
    place_remove(&place);
}

enum { CANNOT_MOUNT = 77 };

static int on_a_small_disk(const struct place *place)
{
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", place->directory, "tmpfs", 0, "size=600k"))
        return CANNOT_MOUNT;
    return write_until_full(place);
}

static void test_full_disk(void)
{
    struct place place = place_make();
    const int status = in_child(on_a_small_disk, &place);
    if (status == CANNOT_MOUNT)
        sprof_test_skip("a full disk needs the right to mount");
    else
        CU_ASSERT_EQUAL(status, 0);
    place_remove(&place);
}

void sprof_suite_recording_writer(void);
void sprof_suite_recording_writer(void)
{
    CU_pSuite suite = CU_add_suite("recording/writer", NULL, NULL);
    CU_add_test(suite, "rows arrive", test_rows_arrive);
    CU_add_test(suite, "finishing writes the rest", test_finishing_writes_the_rest);
    CU_add_test(suite, "zero is finished", test_zero_is_finished);
    CU_add_test(suite, "the first failure stays", test_the_first_failure_stays);
    CU_add_test(suite, "file size limit", test_file_size_limit);
    CU_add_test(suite, "full disk", test_full_disk);
}
