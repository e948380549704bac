#include "store/schema.h"
#include "tests/unit/store/recording.h"

#include <string.h>

static void test_values_and_nulls(void)
{
    ASSERT_QUERY(example.store, "SELECT 1, NULL, 'a b', 2.5, x'41'", "1|-|a b|2.5|A");
    ASSERT_QUERY(example.store, "SELECT name FROM thread WHERE 0", "");
    ASSERT_QUERY(example.store, "", "");
    ASSERT_QUERY(example.store, " -- nothing\n;;", "");
}

static void test_several_statements_run_in_order(void)
{
    ASSERT_QUERY(example.store, "SELECT 1; SELECT 2, 3 ; -- last\nSELECT 4", "1 2|3 4");
}

static int check_names(void *context, int columns, char *const *values, char *const *names)
{
    (void)context, (void)values;
    CU_ASSERT_EQUAL_FATAL(columns, 2);
    CU_ASSERT_STRING_EQUAL(names[0], "function");
    CU_ASSERT_STRING_EQUAL(names[1], "n");
    return 7;
}

static void test_names_and_stop(void)
{
    const char *sql = "SELECT function, inclusive_samples AS n FROM v_function; SELECT 1";
    CU_ASSERT_EQUAL(store_query(example.store, sql, check_names, NULL, NULL), 7);
}

static int ignore(void *context, int columns, char *const *values, char *const *names)
{
    (void)context, (void)columns, (void)values, (void)names;
    return 0;
}

static void test_mistakes_are_explained(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(store_query(example.store, "SELECT nonsense FROM run", ignore, NULL, &error),
                    SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no such column: nonsense"));
    CU_ASSERT_EQUAL(store_query(example.store, "SELEC 1", ignore, NULL, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "syntax error"));
    CU_ASSERT_EQUAL(
        store_query(example.store, "SELECT abs(-9223372036854775808)", ignore, NULL, &error),
        SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "integer overflow"));
    ASSERT_QUERY(example.store, "SELECT 1", "1");
}

static void refuses_to_write(struct store *to, const char *sql)
{
    struct sprof_error error = {0};
    const int status = store_query(to, sql, ignore, NULL, &error);
    CU_ASSERT_EQUAL(status, SPROF_EUSAGE);
    if (status != SPROF_EUSAGE)
        fprintf(stderr, "\nnot refused: %s (%d, %s)\n", sql, status, error.message);
}

static void test_nothing_is_written(void)
{
    static const char *const statements[] = {
        "DELETE FROM sample",
        "UPDATE run SET host = 'x'",
        "UPDATE sqlite_master SET sql = ''",
        "INSERT INTO counter VALUES (1, 'a', 2)",
        "DROP TABLE sample",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP VIEW t AS SELECT 1",
        "ATTACH '/etc/passwd' AS x",
        "ATTACH ':memory:' AS x",
        "DETACH main",
        "BEGIN",
        "SAVEPOINT a",
        "VACUUM",
        "VACUUM INTO '/tmp/sprof-never'",
        "REINDEX",
        "ANALYZE",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = WAL",
        "PRAGMA user_version = 5",
        "PRAGMA writable_schema = ON",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA wal_checkpoint",
        "SELECT load_extension('x')",
        "CREATE VIRTUAL TABLE temp.t USING fts5(a)",
    };
    struct store *writable;
    const struct place other = place_make();
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        refuses_to_write(example.store, statements[i]);
    writable = example_create(&other);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        refuses_to_write(writable, statements[i]);
    ASSERT_QUERY(writable, "SELECT count(*) FROM sample", "7");
    store_close(writable, NULL);
    place_remove(&other);
}

static void test_schema_may_be_looked_at(void)
{
    ASSERT_QUERY(example.store, "SELECT count(*) FROM pragma_table_info('sample')", "8");
    assert_query_number(example.store, "PRAGMA user_version", "%d", STORE_SCHEMA_VERSION);
    ASSERT_QUERY(example.store, "SELECT count(*) > 20 FROM sqlite_schema", "1");
    ASSERT_QUERY(example.store, "EXPLAIN QUERY PLAN SELECT 1", "1|0|0|SCAN CONSTANT ROW");
}

void sprof_suite_store_query(void);
void sprof_suite_store_query(void)
{
    CU_pSuite suite = CU_add_suite("store/query", example_open, example_close);
    CU_add_test(suite, "values and NULLs", test_values_and_nulls);
    CU_add_test(suite, "several statements", test_several_statements_run_in_order);
    CU_add_test(suite, "names, and stopping", test_names_and_stop);
    CU_add_test(suite, "mistakes are explained", test_mistakes_are_explained);
    CU_add_test(suite, "nothing is written", test_nothing_is_written);
    CU_add_test(suite, "the schema may be looked at", test_schema_may_be_looked_at);
}
