#include "store/database.h"
#include "store/header.h"
#include "tests/unit/store/recording.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_is(const struct place *place, int code, const char *words)
{
    struct store *store;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(store_open_read(&store, place->path, &error), code);
    CU_ASSERT_PTR_NULL(store);
    if (strstr(error.message, words) && strstr(error.message, place->path))
        return;
    fprintf(stderr, "\nexpected \"%s\" in: %s\n", words, error.message);
    CU_FAIL("message");
}

static const char *journal_mode(struct store *store)
{
    static char mode[16];
    sqlite3_stmt *statement;
    CU_ASSERT_EQUAL(
        sqlite3_prepare_v2(store->database, "PRAGMA journal_mode", -1, &statement, NULL),
        SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_step(statement), SQLITE_ROW);
    snprintf(mode, sizeof mode, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return mode;
}

static void test_one_file_remains(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    assert_text(journal_mode(store), "wal");
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-shm")));
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    assert_text(journal_mode(store), "delete");
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL(store_close(NULL, NULL), 0);
    place_remove(&place);
}

/* Commits one row a batch and says so, until it is killed. */
static int record_until_killed(const struct place *place, int report)
{
    struct store *store;
    struct store_run run = example_run();
    if (store_create(&store, place->path, NULL) || example_write_raw(store, &run))
        return 1;
    for (uint64_t time = 1000;; time++) {
        struct store_sample sample = {.run_id = 1,
                                      .event_id = 1,
                                      .thread_id = 1,
                                      .node_id = 1,
                                      .time_ns = time,
                                      .weight = 1,
                                      .count = 1};
        const struct store_batch batch = {.samples = {&sample, 1, 0}};
        if (store_write(store, &batch, NULL) || write(report, &time, sizeof time) < 0)
            return 1;
    }
}

/* Returns the last time that was committed for certain. */
static uint64_t record_and_kill(const struct place *place)
{
    int ends[2];
    uint64_t time = 0, last = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    const pid_t child = fork();
    if (!child)
        _exit(record_until_killed(place, ends[1]));
    close(ends[1]);
    while (time < 1300 && read(ends[0], &time, sizeof time) == sizeof time)
        last = time;
    kill(child, SIGKILL);
    while (read(ends[0], &time, sizeof time) == sizeof time)
        last = time;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return last;
}

static void test_killed_recorder_loses_nothing_committed(void)
{
    const struct place place = place_make();
    const uint64_t last = record_and_kill(&place);
    struct store *store;
    char sql[96];
    CU_ASSERT_TRUE(last >= 1300);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sample WHERE time_ns BETWEEN 1000 AND %llu",
             (unsigned long long)last);
    char expected[32];
    snprintf(expected, sizeof expected, "%llu", (unsigned long long)(last - 999));
    ASSERT_QUERY(store, sql, expected);
    ASSERT_QUERY(store, "SELECT state FROM v_run", "recording");
    CU_ASSERT_EQUAL(store_live_recorder(store), 0);
    store_close(store, NULL);
    CU_ASSERT_TRUE(file_exists(place_with(&place, "-wal"))); /* reading changed nothing */

    CU_ASSERT_EQUAL_FATAL(store_open_write(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(store_set_state(store, 1, STORE_RECORDED, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-shm")));
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, sql, expected);
    ASSERT_QUERY(store, "SELECT state FROM v_run; PRAGMA integrity_check", "recorded ok");
    assert_text(journal_mode(store), "delete");
    store_close(store, NULL);
    place_remove(&place);
}

static int writes_left;

/* Marks in empty files how far it came. */
static int record_and_die(const struct place *place)
{
    struct store *store;
    const struct store_run run = example_run();
    if (store_create(&store, place->path, NULL) || store_close(store, NULL))
        return 1;
    die_at_write(writes_left);
    if (store_open_write(&store, place->path, NULL) || example_write_raw(store, &run))
        return 1;
    close(open(place_with(place, ".raw"), O_CREAT | O_WRONLY, 0600));
    if (example_write_derived(store))
        return 1;
    close(open(place_with(place, ".derived"), O_CREAT | O_WRONLY, 0600));
    return store_close(store, NULL);
}

static void check_after_death(const struct place *place, int writes)
{
    struct store *store;
    struct sprof_error error = {0};
    const bool raw = file_exists(place_with(place, ".raw"));
    const bool derived = file_exists(place_with(place, ".derived"));
    CU_ASSERT_EQUAL(store_open_write(&store, place->path, &error), 0);
    if (!store) {
        fprintf(stderr, "\nafter %d writes: %s\n", writes - 1, error.message);
        return;
    }
    ASSERT_QUERY(store, "PRAGMA integrity_check", "ok");
    if (raw)
        ASSERT_QUERY(store, "SELECT count(*) FROM sample", "7");
    if (derived)
        ASSERT_QUERY(store, "SELECT sum(exclusive_samples) FROM v_function", "6");
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_FALSE(file_exists(place_with(place, "-wal")));
}

static void test_killed_at_any_write(void)
{
    int status = -1;
    for (int writes = 1; status == -1; writes += 3) {
        const struct place place = place_make();
        writes_left = writes;
        status = in_child(record_and_die, &place);
        check_after_death(&place, writes);
        place_remove(&place);
    }
    CU_ASSERT_EQUAL(status, 0);
}

static int read_as_nobody(const struct place *place)
{
    struct store *store;
    struct sprof_error error = {0};
    if (setegid(65534) || seteuid(65534))
        return 3;
    if (store_open_read(&store, place->path, &error) != SPROF_EPERMISSION)
        return 1;
    return strstr(error.message, "copy it, with its -wal file") == NULL;
}

static void test_leftover_log_where_nothing_can_be_written(void)
{
    const struct place place = place_make();
    record_and_kill(&place);
    unlink(place_with(&place, "-shm"));
    chmod(place.path, 0644);
    chmod(place_with(&place, "-wal"), 0644);
    chmod(place.directory, getuid() ? 0500 : 0755);
    const int status = in_child(read_as_nobody, &place);
    CU_ASSERT_TRUE(status == 0 || (status == 3 && getuid()));
    place_remove(&place);
}

static int read_complete_as_nobody(const struct place *place)
{
    struct store *store;
    if (setegid(65534) || seteuid(65534))
        return 3;
    return store_open_read(&store, place->path, NULL) ||
           strcmp(query_text(store, "SELECT samples FROM v_quality"), "6") ||
           store_close(store, NULL);
}

static void test_complete_recording_in_a_read_only_directory(void)
{
    const struct place place = place_make();
    example_make(&place);
    chmod(place.path, 0444);
    chmod(place.directory, getuid() ? 0500 : 0755);
    const int status = in_child(read_complete_as_nobody, &place);
    CU_ASSERT_TRUE(status == 0 || (status == 3 && getuid()));
    place_remove(&place);
}

static void test_what_is_no_recording(void)
{
    const struct place place = place_make();
    read_is(&place, SPROF_ENOTFOUND, "sprof record");
    int file = open(place.path, O_WRONLY | O_CREAT, 0600);
    read_is(&place, SPROF_EFORMAT, "is empty");
    CU_ASSERT_EQUAL(write(file, "PERFILE2", 8), 8);
    read_is(&place, SPROF_EFORMAT, "or make one with `sprof import`");
    close(file);
    unlink(place.path);
    CU_ASSERT_EQUAL(mkfifo(place.path, 0600), 0);
    read_is(&place, SPROF_EFORMAT, "not a file");
    unlink(place.path);
    sqlite3 *other;
    CU_ASSERT_EQUAL(sqlite3_open(place.path, &other), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(other, "CREATE TABLE run (id)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    read_is(&place, SPROF_EFORMAT, "not a recording of sprof");
    place_remove(&place);
}

static void test_cut_short(void)
{
    const struct place place = place_make();
    struct stat facts;
    example_make(&place);
    CU_ASSERT_EQUAL(stat(place.path, &facts), 0);
    CU_ASSERT_EQUAL(truncate(place.path, facts.st_size / 2), 0);
    read_is(&place, SPROF_EFORMAT, "is cut short");
    CU_ASSERT_EQUAL(truncate(place.path, 40), 0);
    read_is(&place, SPROF_EFORMAT, "not a recording");
    place_remove(&place);
}

static int take_run(void *context, const struct store_run *run)
{
    (void)run;
    ++*(int *)context;
    return 0;
}

static int take_frame(void *context, const struct store_frame *frame)
{
    (void)frame;
    ++*(int *)context;
    return 0;
}

static void test_second_half_overwritten(void)
{
    const struct place place = place_make();
    struct stat facts;
    struct store *store;
    struct sprof_error error = {0};
    int count = 0;
    example_make(&place);
    CU_ASSERT_EQUAL(stat(place.path, &facts), 0);
    CU_ASSERT_EQUAL(truncate(place.path, 8192), 0); /* the schema stays */
    CU_ASSERT_EQUAL(truncate(place.path, facts.st_size), 0);
    int status = store_open_read(&store, place.path, &error);
    if (!status)
        status = store_each_run(store, take_run, &count, &error);
    if (!status)
        status = store_each_frame(store, take_frame, &count, &error);
    CU_ASSERT_EQUAL(status, SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
    store_close(store, NULL);
    place_remove(&place);
}

/* == Where WAL cannot work == */

/* A file system without shared memory, as SQLite sees NFS: methods of version 1 of each file. */
static sqlite3_vfs plain_vfs;
static sqlite3_vfs *real_vfs;
static sqlite3_io_methods plain_methods;

static int plain_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs;
    const int result = real_vfs->xOpen(real_vfs, name, file, flags, out);
    if (result == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB)) {
        plain_methods = *file->pMethods;
        plain_methods.iVersion = 1;
        file->pMethods = &plain_methods;
    }
    return result;
}

static void test_rollback_journal_where_wal_cannot_work(void)
{
    const struct place place = place_make();
    real_vfs = sqlite3_vfs_find(NULL);
    plain_vfs = *real_vfs;
    plain_vfs.zName = "plain";
    plain_vfs.xOpen = plain_open;
    CU_ASSERT_EQUAL(sqlite3_vfs_register(&plain_vfs, 1), SQLITE_OK);
    struct store *store = example_create(&place);
    assert_text(journal_mode(store), "persist");
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-wal")));
    struct store_file file;
    CU_ASSERT_EQUAL(store_file_look(place.path, &file, NULL), 0);
    CU_ASSERT_TRUE(file.has_log); /* somebody writes */
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-journal")));
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT samples FROM v_quality", "6");
    store_close(store, NULL);
    sqlite3_vfs_unregister(&plain_vfs);
    sqlite3_vfs_register(real_vfs, 1);
    place_remove(&place);
}

/* A reader keeps the log from being folded; nothing is lost by that. */
static void test_close_while_another_reads(void)
{
    const struct place place = place_make();
    struct store *writer = example_create(&place), *reader;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(store_open_read(&reader, place.path, NULL), 0);
    CU_ASSERT_EQUAL(store_close(writer, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "-wal"));
    ASSERT_QUERY(reader, "SELECT samples FROM v_quality", "6");
    store_close(reader, NULL);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&reader, place.path, NULL), 0);
    ASSERT_QUERY(reader, "SELECT samples FROM v_quality", "6");
    store_close(reader, NULL);
    place_remove(&place);
}

static void *close_later(void *reader)
{
    usleep(50000);
    store_close(reader, NULL);
    return NULL;
}

/* One who looks for a moment does not. */
static void test_close_while_another_looks(void)
{
    const struct place place = place_make();
    struct store *writer = example_create(&place), *reader;
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(store_open_read(&reader, place.path, NULL), 0);
    ASSERT_QUERY(reader, "SELECT samples FROM v_quality", "6");
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, close_later, reader), 0);
    CU_ASSERT_EQUAL(store_close(writer, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_FALSE(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_EQUAL_FATAL(store_open_read(&reader, place.path, NULL), 0);
    ASSERT_QUERY(reader, "SELECT samples FROM v_quality", "6");
    store_close(reader, NULL);
    place_remove(&place);
}

/* The one that is there now has a log of its own. */
static void test_close_while_another_is_in_its_place(void)
{
    const struct place place = place_make();
    struct store *moved = example_create(&place), *store;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(rename(place.path, place_with(&place, ".moved")), 0);
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    const struct store_run run = example_run();
    CU_ASSERT_EQUAL(store_write(store, &(struct store_batch){.run = &run}, NULL), 0);
    CU_ASSERT_TRUE_FATAL(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_EQUAL(store_close(moved, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another file now"));
    CU_ASSERT_TRUE(file_exists(place_with(&place, "-wal")));
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place_with(&place, ".moved"), NULL), 0);
    ASSERT_QUERY(store, "SELECT samples FROM v_quality", "6");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_append(void)
{
    const struct place place = place_make();
    struct store *store;
    struct store_ids ids;
    struct store_run run = example_run();
    example_make(&place);
    CU_ASSERT_EQUAL_FATAL(store_open_write(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(store_last_ids(store, &ids, NULL), 0);
    CU_ASSERT_EQUAL(ids.run, 1);
    CU_ASSERT_EQUAL(ids.thread, 3);
    CU_ASSERT_EQUAL(ids.frame, 7);
    CU_ASSERT_EQUAL(ids.node, 8);
    CU_ASSERT_EQUAL(ids.path, 9);
    CU_ASSERT_EQUAL(ids.sample, 7);
    run.id = ids.run + 1;
    run.key++;
    CU_ASSERT_EQUAL(store_write(store, &(struct store_batch){.run = &run}, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT run_id, state FROM v_run", "1|complete 2|recording");
    store_close(store, NULL);
    place_remove(&place);
}

void sprof_suite_store_open(void);
void sprof_suite_store_open(void)
{
    CU_pSuite suite = CU_add_suite("store/open", NULL, NULL);
    CU_add_test(suite, "one file remains", test_one_file_remains);
    CU_add_test(suite, "kill -9 loses nothing committed",
                test_killed_recorder_loses_nothing_committed);
    CU_add_test(suite, "killed at any write", test_killed_at_any_write);
    CU_add_test(suite, "a leftover log in a read-only directory",
                test_leftover_log_where_nothing_can_be_written);
    CU_add_test(suite, "a complete recording in a read-only directory",
                test_complete_recording_in_a_read_only_directory);
    CU_add_test(suite, "what is no recording", test_what_is_no_recording);
    CU_add_test(suite, "cut short", test_cut_short);
    CU_add_test(suite, "second half overwritten", test_second_half_overwritten);
    CU_add_test(suite, "rollback journal where WAL cannot work",
                test_rollback_journal_where_wal_cannot_work);
    CU_add_test(suite, "closing while another reads", test_close_while_another_reads);
    CU_add_test(suite, "closing while another looks", test_close_while_another_looks);
    CU_add_test(suite, "closing while another is in its place",
                test_close_while_another_is_in_its_place);
    CU_add_test(suite, "append", test_append);
}
