#include "tests/unit/skip.h"
#include "tests/unit/store/recording.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

static void test_written_again_replaces(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    struct store_thread thread = {.id = 1,
                                  .process_id = 1,
                                  .tid = 100,
                                  .name = "renamed",
                                  .samples = 9,
                                  .cpu_time_ns = 5,
                                  .cpu_time_known = true};
    struct store_counter counter = {.run_id = 1, .name = "unwind.cache_hits", .value = 80};
    const struct store_batch batch = {.threads = {&thread, 1, 0}, .counters = {&counter, 1, 0}};
    CU_ASSERT_EQUAL(store_write(store, &batch, NULL), 0);
    ASSERT_QUERY(store, "SELECT name, samples FROM thread WHERE id = 1", "renamed|9");
    ASSERT_QUERY(store, "SELECT count(*) FROM thread", "3");
    ASSERT_QUERY(store, "SELECT value FROM counter ORDER BY name", "80 25");
    ASSERT_QUERY(store, "PRAGMA foreign_key_check", "");
    store_close(store, NULL);
    place_remove(&place);
}

/* What its recorder has ended needs no word; of what it has not, the file says for good that it was
 * killed. */
static void test_killed_recorder_is_noted(void)
{
    const struct place place = place_make();
    const struct store_run run = example_run();
    struct store *store = example_create(&place);
    struct store_quality quality;
    ASSERT_QUERY(store, "SELECT count(*) FROM counter WHERE name = 'recorder.killed'", "0");
    CU_ASSERT_EQUAL(store_quality(store, 1, &quality, NULL), 0);
    CU_ASSERT_FALSE(quality.killed);
    store_close(store, NULL);
    CU_ASSERT_EQUAL_FATAL(unlink(place.path), 0);
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(example_write_raw(store, &run), 0);
    for (int i = 0; i < 2; i++) /* once more: `sprof symbolize --again` */
        CU_ASSERT_EQUAL(example_write_derived(store), 0);
    ASSERT_QUERY(store, "SELECT run_id, value FROM counter WHERE name = 'recorder.killed'", "1|1");
    CU_ASSERT_EQUAL(store_quality(store, 1, &quality, NULL), 0);
    CU_ASSERT_TRUE(quality.killed);
    store_close(store, NULL);
    place_remove(&place);
}

static void test_batch_is_all_or_nothing(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    struct sprof_error error = {0};
    struct store_process process = {.id = 9, .run_id = 1, .pid = 9, .name = "new"};
    struct store_module nameless = {.id = 9};
    const struct store_batch bad = {.processes = {&process, 1, 0}, .modules = {&nameless, 1, 0}};
    const struct store_batch good = {.processes = {&process, 1, 0}};
    CU_ASSERT_EQUAL(store_write(store, &bad, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "module.path"));
    ASSERT_QUERY(store, "SELECT count(*) FROM process", "2");
    CU_ASSERT_EQUAL(store_write(store, &good, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM process", "3");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_empty_batch_and_reuse(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    struct store_batch batch = {0};
    CU_ASSERT_EQUAL(store_write(store, &batch, NULL), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&batch.processes, (struct store_process){.id = 3}), 0);
    batch.run = &(struct store_run){.id = 1};
    store_batch_clear(&batch);
    CU_ASSERT_EQUAL(batch.processes.count, 0);
    CU_ASSERT_PTR_NOT_NULL(batch.processes.items);
    CU_ASSERT_PTR_NULL(batch.run);
    store_batch_release(&batch);
    CU_ASSERT_PTR_NULL(batch.processes.items);
    store_close(store, NULL);
    place_remove(&place);
}

static void test_derived_is_replaced(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    CU_ASSERT_EQUAL(example_write_derived(store), 0);
    ASSERT_QUERY(store, "SELECT count(*), max(id) FROM function", "6|6");
    ASSERT_QUERY(store, "SELECT count(*), max(id) FROM frame", "7|7");
    ASSERT_QUERY(store, "SELECT count(*) FROM call_path", "9");
    const struct store_derived nothing = {0};
    CU_ASSERT_EQUAL(store_write_derived(store, &nothing, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM path_cost", "9");
    uint32_t run = 1, inlined = 7, other_run = 2;
    struct store_derived other = {.runs = {&other_run, 1, 1}};
    CU_ASSERT_EQUAL(store_write_derived(store, &other, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM path_cost", "9");
    struct store_derived emptied = {.runs = {&run, 1, 1}, .forgotten_frames = {&inlined, 1, 1}};
    CU_ASSERT_EQUAL(store_write_derived(store, &emptied, NULL), 0);
    ASSERT_QUERY(store,
                 "SELECT (SELECT count(*) FROM path_cost) + (SELECT count(*) FROM edge_cost)"
                 " + (SELECT count(*) FROM module_cost) + (SELECT count(*) FROM function_cost)",
                 "0");
    ASSERT_QUERY(store, "SELECT count(*) FROM frame", "6");
    ASSERT_QUERY(store, "SELECT count(*) FROM call_path", "9");
    emptied.replaces_paths = true;
    CU_ASSERT_EQUAL(store_write_derived(store, &emptied, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM call_path", "0");
    ASSERT_QUERY(store, "SELECT name FROM function WHERE id NOT IN (SELECT function_id FROM frame)",
                 "");
    ASSERT_QUERY(store, "SELECT count(*) FROM sample", "7");
    store_close(store, NULL);
    place_remove(&place);
}

/* Frames 101 and on, as recorded or with names: functions 1 to 6 are there. */
static void fill_frames(struct store_frame *frames, uint32_t count, bool named)
{
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (struct store_frame){.id = 101 + i,
                                         .module_id = 1,
                                         .file_offset = 0x1000 + 8 * i,
                                         .function_id = named ? 1 + i % 6 : 0,
                                         .file = named ? "source.c" : NULL,
                                         .line = named ? 1000 + i : 0};
}

/* The names of a run's frames need room: the pages are filled all the same. */
static void test_named_frames_fill_their_pages(void)
{
    enum { FRAMES = 5000, FEW = 3 };
    static struct store_frame frames[FRAMES];
    const struct place place = place_make();
    struct store *store = example_create(&place);
    CU_ASSERT_EQUAL(example_write_derived(store), 0);
    fill_frames(frames, FRAMES, false);
    const struct store_batch batch = {.frames = {frames, FRAMES, FRAMES}};
    const long without = atol(query_text(store, "PRAGMA page_count"));
    CU_ASSERT_EQUAL(store_write(store, &batch, NULL), 0);
    const long before = atol(query_text(store, "PRAGMA page_count"));
    fill_frames(frames, FRAMES, true);
    struct store_derived named = {.frames = {frames, FRAMES, FRAMES}};
    CU_ASSERT_EQUAL(store_write_derived(store, &named, NULL), 0);
    const long after = atol(query_text(store, "PRAGMA page_count"));
    /* 35 pages instead of 22; each row in the place of its former one took 39. */
    CU_ASSERT_TRUE(after > before);
    CU_ASSERT_TRUE((after - without) * 10 < (before - without) * 17);
    ASSERT_QUERY(store, "SELECT count(*), count(function_id), max(line) FROM frame WHERE id > 100",
                 "5000|5000|5999");
    ASSERT_QUERY(store, "SELECT count(*), max(id) FROM frame WHERE id <= 100", "7|7");
    /* Some of them, and in no order: the others stay as they are. */
    struct store_frame few[FEW] = {frames[4998], frames[17], frames[4000]};
    for (int i = 0; i < FEW; i++)
        few[i].line = 7;
    named = (struct store_derived){.frames = {few, FEW, FEW}};
    CU_ASSERT_EQUAL(store_write_derived(store, &named, NULL), 0);
    struct store_frame two[2] = {frames[4997], frames[4999]};
    two[0].line = two[1].line = 7;
    named = (struct store_derived){.frames = {two, 2, 2}};
    CU_ASSERT_EQUAL(store_write_derived(store, &named, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*), sum(line = 7) FROM frame WHERE id > 100", "5000|5");
    ASSERT_QUERY(store, "PRAGMA foreign_key_check", "");
    store_close(store, NULL);
    place_remove(&place);
}

/* == No space == */

/* Writes batches until one fails; returns how many were committed. */
static uint64_t write_until_full(struct store *store, struct sprof_error *error, int *status)
{
    enum { ROWS = 200 };
    struct store_sample samples[ROWS];
    for (int i = 0; i < ROWS; i++)
        samples[i] = (struct store_sample){
            .run_id = 1, .event_id = 1, .thread_id = 1, .node_id = 1, .time_ns = 5000, .weight = 1};
    const struct store_batch batch = {.samples = {samples, ROWS, 0}};
    for (uint64_t written = 0;; written += ROWS)
        if ((*status = store_write(store, &batch, error)) || written > 1000000)
            return written;
}

/* 0: all is as promised; otherwise the number of the promise that was broken. */
static int check_full(const struct place *place)
{
    struct store *store;
    struct sprof_error error = {0};
    struct store_run run = example_run();
    char expected[32];
    int status;
    if (store_create(&store, place->path, NULL) || example_write_raw(store, &run))
        return 10;
    const uint64_t written = write_until_full(store, &error, &status);
    if (status != SPROF_EFULL || !strstr(error.message, "is kept"))
        return 11;
    snprintf(expected, sizeof expected, "%llu", (unsigned long long)written);
    const char *count = "SELECT count(*) FROM sample WHERE time_ns = 5000";
    if (!written || strcmp(query_text(store, count), expected))
        return 12;
    store_close(store, NULL); /* may fail: folding needs space, too */
    if (store_open_read(&store, place->path, &error))
        return 13;
    if (strcmp(query_text(store, count), expected))
        return 14;
    return store_close(store, NULL) ? 15 : 0;
}

static int record_on_a_small_disk(const struct place *place)
{
    if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", place->directory, "tmpfs", 0, "size=1m"))
        return 3;
    return check_full(place);
}

static void test_disk_full_keeps_what_was_committed(void)
{
    const struct place place = place_make();
    const int status = in_child(record_on_a_small_disk, &place);
    if (status == 3)
        sprof_test_skip("a full disk needs the right to mount");
    else
        CU_ASSERT_EQUAL(status, 0);
    place_remove(&place);
}

static int record_with_a_file_limit(const struct place *place)
{
    const struct rlimit limit = {1 << 20, 1 << 20};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) ? 3 : check_full(place);
}

static void test_file_limit_keeps_what_was_committed(void)
{
    const struct place place = place_make();
    CU_ASSERT_EQUAL(in_child(record_with_a_file_limit, &place), 0);
    place_remove(&place);
}

void sprof_suite_store_writer(void);
void sprof_suite_store_writer(void)
{
    CU_pSuite suite = CU_add_suite("store/writer", NULL, NULL);
    CU_add_test(suite, "written again replaces", test_written_again_replaces);
    CU_add_test(suite, "a killed recorder is noted", test_killed_recorder_is_noted);
    CU_add_test(suite, "a batch is all or nothing", test_batch_is_all_or_nothing);
    CU_add_test(suite, "empty batch, and reuse", test_empty_batch_and_reuse);
    CU_add_test(suite, "what is derived is replaced", test_derived_is_replaced);
    CU_add_test(suite, "frames with names fill their pages", test_named_frames_fill_their_pages);
    CU_add_test(suite, "disk full", test_disk_full_keeps_what_was_committed);
    CU_add_test(suite, "file size limit", test_file_limit_keeps_what_was_committed);
}
