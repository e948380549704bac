#include "store/schema.h"
#include "tests/unit/store/recording.h"

#include "store/database.h"

#include <stdio.h>
#include <string.h>

static void test_identity_and_keys(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    assert_query_number(store, "PRAGMA user_version; PRAGMA application_id", "%d 1936749158",
                        STORE_SCHEMA_VERSION);
    ASSERT_QUERY(store, "PRAGMA foreign_key_check", "");
    ASSERT_QUERY(store, "PRAGMA integrity_check", "ok");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_foreign_keys_are_declared(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    const struct store_sample stray = {.run_id = 1, .event_id = 1, .thread_id = 77, .node_id = 1};
    struct store_batch batch = {0};
    CU_ASSERT_EQUAL(sprof_vec_push(&batch.samples, stray), 0);
    CU_ASSERT_EQUAL(store_write(store, &batch, NULL), 0);
    ASSERT_QUERY(store, "PRAGMA foreign_key_check", "sample|8|thread|1");
    store_batch_release(&batch);
    store_close(store, NULL);
    place_remove(&place);
}

/* Those that are no queries. */
static int count_tables(void)
{
    int tables = 0;
    for (int id = 0; id < STORE_TABLES; id++)
        tables += store_table((enum store_table_id)id)->key != NULL;
    return tables;
}

static int count_views(void)
{
    static const char begin[] = "CREATE VIEW";
    int views = 0;
    for (const char *at = store_views_sql; (at = strstr(at, begin)); at += sizeof begin)
        views++;
    return views;
}

static void test_tables_are_strict(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    CU_ASSERT_TRUE(count_tables() > 30);
    assert_query_number(store,
                        "SELECT count(*), min(strict) FROM pragma_table_list "
                        "WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
                        "%d|1", count_tables());
    CU_ASSERT_TRUE(count_views() > 10);
    assert_query_number(store, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'", "%d",
                        count_views());
    store_close(store, NULL);
    place_remove(&place);
}

static void test_no_table_stays_empty(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    for (int id = 0; id < STORE_TABLES; id++) {
        const struct store_table *table = store_table((enum store_table_id)id);
        char sql[96];
        if (!table->key)
            continue;
        snprintf(sql, sizeof sql, "SELECT '%s', count(*) > 0 FROM %s", table->name, table->name);
        const char *text = query_text(store, sql);
        CU_ASSERT_EQUAL(text[strlen(text) - 1], '1');
    }
    store_close(store, NULL);
    place_remove(&place);
}

static void set_version(const struct place *place, const char *pragma)
{
    sqlite3 *database;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place->path, &database), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(database, pragma, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void test_newer_version_is_refused(void)
{
    const struct place place = place_make();
    struct store *store;
    struct sprof_error error = {0};
    char known[32];
    example_make(&place);
    set_version(&place, "PRAGMA user_version = 77");
    snprintf(known, sizeof known, "up to %d", STORE_SCHEMA_VERSION);
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "version 77"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, known));
    CU_ASSERT_EQUAL(store_open_write(&store, place.path, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_EQUAL(store_create(&store, place.path, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NULL(store);
    place_remove(&place);
}

static void test_version_without_tables_is_refused(void)
{
    const struct place place = place_make();
    struct store *store;
    set_version(&place, "PRAGMA application_id = 0x73707266");
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, NULL), SPROF_EFORMAT);
    for (int version = STORE_SCHEMA_VERSION; version >= 1; version--) {
        char pragma[40];
        snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", version);
        set_version(&place, pragma);
        CU_ASSERT_EQUAL(store_open_read(&store, place.path, NULL), SPROF_EFORMAT);
    }
    place_remove(&place);
}

void sprof_suite_store_schema(void);
void sprof_suite_store_schema(void)
{
    CU_pSuite suite = CU_add_suite("store/schema", NULL, NULL);
    CU_add_test(suite, "identity and keys", test_identity_and_keys);
    CU_add_test(suite, "foreign keys are declared", test_foreign_keys_are_declared);
    CU_add_test(suite, "all tables are strict", test_tables_are_strict);
    CU_add_test(suite, "no table stays empty", test_no_table_stays_empty);
    CU_add_test(suite, "a newer version is refused", test_newer_version_is_refused);
    CU_add_test(suite, "a version without its tables", test_version_without_tables_is_refused);
}
