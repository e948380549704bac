/* Recordings of version 1, made by version 1's own SQL (tests/unit/store/v1): the views give the
 * same before and after. */
#include "store/schema.h"
#include "tests/unit/store/recording.h"

#include "store/database.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_text(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/unit/store/v1/%s", SPROF_SOURCE_DIR, name);
    struct sprof_str text = {0};
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        sprof_str_append_bytes(&text, part, got);
    fclose(file);
    return sprof_str_take(&text);
}

static void execute(sqlite3 *database, const char *sql)
{
    char *why = NULL;
    CU_ASSERT_EQUAL(sqlite3_exec(database, sql, NULL, NULL, &why), SQLITE_OK);
    if (why)
        fprintf(stderr, "%s\n", why);
    sqlite3_free(why);
}

static void make_version_1(const struct place *place, const char *more)
{
    static const char *const files[] = {"schema.sql", "views.sql", "example.sql"};
    sqlite3 *database;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place->path, &database), SQLITE_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *sql = read_text(files[i]);
        execute(database, sql);
        free(sql);
    }
    execute(database, "PRAGMA user_version = 1");
    execute(database, more);
    sqlite3_close(database);
}

/* Every documented column, in an order of their own. */
static const char *const questions[] = {
    "SELECT run_id, event, function, module, kind, exclusive_samples, inclusive_samples,"
    " exclusive_weight, inclusive_weight, coalesce(linkage_name, function), file, line, named FROM "
    "v_function ORDER BY"
    " 1, 2, 3",
    "SELECT run_id, event, module, build_id, kind, exclusive_samples, inclusive_samples,"
    " exclusive_weight, inclusive_weight, path, problem FROM v_module ORDER BY 1, 2, 3",
    "SELECT run_id, event, path_id, parent_id, depth, function, module, path, exclusive_samples,"
    " inclusive_samples, exclusive_weight, inclusive_weight, kind FROM v_call_tree ORDER BY 1, 3",
    "SELECT run_id, event, caller, caller_module, callee, callee_module, samples, weight"
    " FROM v_edge ORDER BY 1, 2, 3, 5",
    "SELECT run_id, event, file, line, function, module, exclusive_samples, inclusive_samples,"
    " exclusive_weight, inclusive_weight FROM v_line ORDER BY 1, 2, 3, 4, 5",
    "SELECT run_id, event, pid, tid, process, thread, samples, weight, cpu_time_ns, start_ns,"
    " end_ns FROM v_thread ORDER BY 1, 2, 3, 4",
    "SELECT run_id, event, time_ns, pid, tid, cpu, weight, address, end_reason, stitched, depth,"
    " leaf, path, count, process, thread, module, sample_id FROM v_sample ORDER BY sample_id",
    "SELECT * FROM v_quality",
    "SELECT * FROM ledger",
    "SELECT * FROM counter",
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

static int add_row(void *context, int columns, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < columns; i++)
        sprof_str_appendf(context, "%s|", values[i] ? values[i] : "-");
    return sprof_str_append(context, "\n");
}

static char *answer(const char *path, const char *question)
{
    struct sprof_str text = {0};
    sqlite3 *database;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(database, question, add_row, &text, NULL), SQLITE_OK);
    sqlite3_close(database);
    return sprof_str_take(&text);
}

static int add_answer(void *context, int columns, char *const *values, char *const *names)
{
    return add_row(context, columns, (char **)values, (char **)names);
}

static void expect_answers(struct store *store, char *const *expected)
{
    for (int i = 0; i < QUESTIONS; i++) {
        struct sprof_str text = {0};
        CU_ASSERT_EQUAL(store_query(store, questions[i], add_answer, &text, NULL), 0);
        CU_ASSERT_TRUE(expected[i] && strlen(expected[i]) > 4);
        assert_text(text.text, expected[i]);
        sprof_str_release(&text);
    }
}

static char *bytes_of(const char *path, size_t *size)
{
    struct stat facts = {0};
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fstat(fileno(file), &facts), 0);
    *size = (size_t)facts.st_size;
    char *bytes = malloc(*size);
    CU_ASSERT_EQUAL(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void test_reading_leaves_it_as_it_is(void)
{
    const struct place place = place_make();
    struct store *store;
    char *expected[QUESTIONS];
    size_t before_size, after_size;
    make_version_1(&place, "");
    for (int i = 0; i < QUESTIONS; i++)
        expected[i] = answer(place.path, questions[i]);
    char *before = bytes_of(place.path, &before_size);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    expect_answers(store, expected);
    assert_query_number(store, "PRAGMA user_version", "%d", STORE_SCHEMA_VERSION);
    CU_ASSERT_EQUAL(store_query(store, "DELETE FROM counter", add_answer, NULL, NULL),
                    SPROF_EUSAGE);
    store_close(store, NULL);
    char *after = bytes_of(place.path, &after_size);
    CU_ASSERT_TRUE(before_size == after_size && !memcmp(before, after, before_size));
    for (int i = 0; i < QUESTIONS; i++)
        free(expected[i]);
    free(before);
    free(after);
    place_remove(&place);
}

static void test_writing_migrates(void)
{
    const struct place place = place_make();
    struct store *store;
    char *expected[QUESTIONS];
    make_version_1(&place, "");
    for (int i = 0; i < QUESTIONS; i++)
        expected[i] = answer(place.path, questions[i]);
    CU_ASSERT_EQUAL_FATAL(store_open_write(&store, place.path, NULL), 0);
    expect_answers(store, expected);
    ASSERT_QUERY(store, "PRAGMA foreign_key_check; PRAGMA integrity_check", "ok");
    ASSERT_QUERY(store, "SELECT name FROM sqlite_schema WHERE name LIKE 'v1%'", "");
    ASSERT_QUERY(store, "SELECT run_id, mode, end_ns FROM v_phase", "1|full|2000000000");
    /* Keys: of a build id anew, with all that stands on it; otherwise not known. */
    ASSERT_QUERY(store, "SELECT id, key IS NULL FROM module ORDER BY id", "1|0 2|1 3|1");
    ASSERT_QUERY(store,
                 "SELECT module_id, min(key IS NULL), max(key IS NULL) FROM frame GROUP BY 1",
                 "1|0|0 2|1|1 3|1|1");
    ASSERT_QUERY(store, "SELECT count(*) FROM function WHERE key IS NULL", "0");
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    expect_answers(store, expected);
    store_close(store, NULL);
    for (int i = 0; i < QUESTIONS; i++)
        free(expected[i]);
    place_remove(&place);
}

/* A row that version 1 could not have written stops the migration: the file stays what it was. */
static void test_all_or_nothing(void)
{
    const struct place place = place_make();
    struct store *store;
    struct sprof_error error = {0};
    make_version_1(&place, "PRAGMA ignore_check_constraints = ON;"
                           "UPDATE sample SET end_reason = 'magic' WHERE id = 3");
    CU_ASSERT_EQUAL(store_open_write(&store, place.path, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "sample.packed"));
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, &error), SPROF_EFORMAT);
    char *version = answer(place.path, "PRAGMA user_version");
    char *reason = answer(place.path, "SELECT end_reason FROM v_sample WHERE sample_id = 3");
    CU_ASSERT_STRING_EQUAL(version, "1|\n");
    CU_ASSERT_STRING_EQUAL(reason, "magic|\n");
    free(version);
    free(reason);
    place_remove(&place);
}

/* Version 2 lacks tables and views, and is brought to what a new recording is. */
static void test_version_2(void)
{
    static const char shape[] = "SELECT type, name FROM sqlite_schema ORDER BY 1, 2";
    const struct place place = place_make();
    struct store *store;
    sqlite3 *database;
    example_make(&place);
    char *wanted = answer(place.path, shape);
    static const char figures[] = "SELECT function, calls, total_ns, self_ns, p99_ns, self_percent "
                                  "FROM v_call_stats";
    char *calls = answer(place.path, figures);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place.path, &database), SQLITE_OK);
    execute(database, "DROP VIEW v_process_call; DROP VIEW v_coverage; DROP TABLE coverage; DROP "
                      "TABLE entry_coverage;"
                      "DROP VIEW v_history; DROP VIEW v_probe; DROP VIEW v_selection;"
                      "DROP VIEW v_probe_event; DROP TABLE probe_event;"
                      "DROP TABLE selection; DROP TABLE phase_option;"
                      "DROP VIEW v_call; DROP VIEW v_not_logged; DROP TABLE call_block;"
                      "DROP TABLE call_function; DROP TABLE probe; DROP TABLE call_untimed;"
                      "DROP TABLE call_tail_cut; DROP VIEW v_outside;"
                      "DROP TABLE call_outside; DROP TABLE outside_cost; DROP TABLE call_stack; "
                      "DROP TABLE call_heap; "
                      "DROP VIEW v_request; DROP TABLE request_part; "
                      "DROP VIEW v_call_value; "
                      "DROP VIEW v_kept_call;"
                      "DROP TABLE keep_rule; DROP TABLE kept_call; DROP TABLE call_value;"
                      "DROP TABLE probe_ledger; DROP VIEW v_warning; DROP TABLE warning;"
                      "DROP TABLE place_cost; DROP TABLE place_block; DROP TABLE sampled_user;"
                      "DROP VIEW v_thread; DROP TABLE process_origin;"
                      "PRAGMA user_version = 2");
    sqlite3_close(database);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM v_coverage", "0");
    store_close(store, NULL);
    char *version = answer(place.path, "PRAGMA user_version");
    CU_ASSERT_STRING_EQUAL(version, "2|\n");
    free(version);
    CU_ASSERT_EQUAL_FATAL(store_open_write(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    char *found = answer(place.path, shape), *same_calls = answer(place.path, figures);
    CU_ASSERT_STRING_EQUAL(found, wanted);
    CU_ASSERT_STRING_EQUAL(same_calls, calls);
    free(wanted);
    free(calls);
    free(found);
    free(same_calls);
    place_remove(&place);
}

/* A recording of version 19 with other figures of a function's calls. */
static void expect_outermost(const char *figures, const char *wanted)
{
    const struct place place = place_make();
    struct store *store;
    sqlite3 *database;
    example_make(&place);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place.path, &database), SQLITE_OK);
    execute(database, figures);
    execute(
        database,
        "UPDATE call_cost SET outermost = NULL; PRAGMA writable_schema = ON;"
        "UPDATE sqlite_schema SET sql = replace(sql, '\"outermost\"', '\"former\"') WHERE name = "
        "'call_cost'; PRAGMA user_version = 19");
    sqlite3_close(database);
    for (int i = 0; i < 2; i++) { /* a copy in memory, then the file itself */
        CU_ASSERT_EQUAL_FATAL(i ? store_open_write(&store, place.path, NULL)
                                : store_open_read(&store, place.path, NULL),
                              0);
        ASSERT_QUERY(store, "SELECT c.outermost, v.average_ns FROM call_cost c, v_call_stats v",
                     wanted);
        store_close(store, NULL);
    }
    place_remove(&place);
}

/* In version 19 views made the number of outermost calls of other columns. */
static void test_version_19(void)
{
    expect_outermost("UPDATE call_cost SET in_flight = 2, recursive = 1", "5|180");
    /* Fewer calls began within others than are open, and more than there are: never below 0. */
    expect_outermost("UPDATE call_cost SET in_flight = 3, recursive = 0", "4|225");
    expect_outermost("UPDATE call_cost SET calls = 1, counted = 0, in_flight = 1, recursive = 5",
                     "-|-");
}

/* In version 12 events of probes were tiers, and probes had no callers. */
static void test_version_12(void)
{
    const struct place place = place_make();
    struct store *store;
    sqlite3 *database;
    example_make(&place);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place.path, &database), SQLITE_OK);
    execute(database,
            "DROP VIEW v_history; DROP VIEW v_probe; DROP VIEW v_selection; DROP VIEW "
            "v_probe_event; DROP VIEW v_call; DROP TABLE selection; DROP TABLE phase_option;"
            "DROP TABLE probe_event;"
            "CREATE TABLE probe_event (run_id INTEGER NOT NULL, node_id INTEGER NOT NULL, time_ns "
            "INTEGER NOT NULL, tier INTEGER NOT NULL, share REAL NOT NULL, PRIMARY KEY (run_id, "
            "node_id, time_ns)) STRICT, WITHOUT ROWID;"
            "INSERT INTO probe_event VALUES (1, 1, 700, 2, 0.25), (1, 2, 300, 1, 0);"
            "ALTER TABLE probe DROP COLUMN callers;"
            "INSERT INTO word (list, number, word) VALUES ('probe_tier', 0, 'timed');"
            "PRAGMA user_version = 12");
    sqlite3_close(database);
    for (int i = 0; i < 2; i++) { /* a copy in memory, then the file itself */
        CU_ASSERT_EQUAL_FATAL(i ? store_open_write(&store, place.path, NULL)
                                : store_open_read(&store, place.path, NULL),
                              0);
        ASSERT_QUERY(store, "SELECT number, time_ns, node_id, in_flight FROM probe_event",
                     "1|300|2|0 2|700|1|0");
        ASSERT_QUERY(store, "SELECT time_ns, what, cause, share FROM v_probe_event",
                     "300|counted|room|0.0 700|off|governor|0.25");
        ASSERT_QUERY(store, "SELECT count(*), count(callers) FROM probe", "1|0");
        ASSERT_QUERY(store, "SELECT count(*) FROM word WHERE list = 'probe_tier'", "0");
        ASSERT_QUERY(store, "SELECT count(*) FROM v_selection", "0");
        store_close(store, NULL);
    }
    place_remove(&place);
}

/* A recorder of version 1 that lives keeps its file. */
static void test_live_recorder_of_version_1(void)
{
    const struct place place = place_make();
    struct store *store;
    struct sprof_error error = {0};
    struct sprof_proc_stat stat;
    char boot_id[SPROF_BOOT_ID_SIZE], sql[256];
    CU_ASSERT_TRUE(sprof_proc_stat_read(getpid(), &stat));
    sprof_proc_boot_id(boot_id);
    snprintf(sql, sizeof sql,
             "UPDATE run SET state = 'recording', recorder_pid = %d, recorder_start = %llu,"
             " boot_id = '%s'",
             (int)getpid(), (unsigned long long)stat.start_ticks, boot_id);
    make_version_1(&place, sql);
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_EQUAL(store_open_write(&store, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "still recording"));
    place_remove(&place);
}

void sprof_suite_store_migrate(void);
void sprof_suite_store_migrate(void)
{
    CU_pSuite suite = CU_add_suite("store/migrate", NULL, NULL);
    CU_add_test(suite, "reading leaves it as it is", test_reading_leaves_it_as_it_is);
    CU_add_test(suite, "writing migrates", test_writing_migrates);
    CU_add_test(suite, "version 2", test_version_2);
    CU_add_test(suite, "version 12", test_version_12);
    CU_add_test(suite, "a recording of version 19", test_version_19);
    CU_add_test(suite, "all or nothing", test_all_or_nothing);
    CU_add_test(suite, "a live recorder of version 1", test_live_recorder_of_version_1);
}
