#include "base/clock.h"
#include "store/database.h"
#include "tests/unit/store/recording.h"

#include <string.h>

static void test_scalar(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    struct sprof_error error = {0};
    int64_t value = 77;
    CU_ASSERT_EQUAL(store_scalar(store, "SELECT pid FROM process WHERE id = 99", &value, NULL), 0);
    CU_ASSERT_EQUAL(value, 77);
    CU_ASSERT_EQUAL(store_scalar(store, "SELECT pid FROM process WHERE id = 2", &value, NULL), 0);
    CU_ASSERT_EQUAL(value, 200);
    CU_ASSERT_EQUAL(store_scalar(store, "SELECT x FROM process", &value, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, place.path));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no such column"));
    store_close(store, NULL);
    place_remove(&place);
}

static void test_transaction(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    CU_ASSERT_EQUAL(store_begin(store, NULL), 0);
    CU_ASSERT_EQUAL(store_exec(store, "DELETE FROM counter", NULL), 0);
    CU_ASSERT_EQUAL(store_end(store, SPROF_EIO, NULL), SPROF_EIO);
    ASSERT_QUERY(store, "SELECT count(*) FROM counter", "2");
    CU_ASSERT_EQUAL(store_begin(store, NULL), 0);
    CU_ASSERT_EQUAL(store_exec(store, "DELETE FROM counter", NULL), 0);
    CU_ASSERT_EQUAL(store_end(store, 0, NULL), 0);
    ASSERT_QUERY(store, "SELECT count(*) FROM counter", "0");
    store_close(store, NULL);
    place_remove(&place);
}

static void test_another_writer_is_waited_for_and_told(void)
{
    const struct place place = place_make();
    struct store *first = example_create(&place), *second;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(store_open_write(&second, place.path, NULL), 0);
    sqlite3_busy_timeout(second->database, 1); /* instead of seconds */
    CU_ASSERT_EQUAL(store_begin(first, NULL), 0);
    CU_ASSERT_EQUAL(store_set_state(second, 1, STORE_RECORDED, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another program"));
    CU_ASSERT_EQUAL(store_end(first, 0, NULL), 0);
    CU_ASSERT_EQUAL(store_set_state(second, 1, STORE_RECORDED, NULL), 0);
    CU_ASSERT_EQUAL(store_close(second, NULL), SPROF_ESTATE); /* the first has it open */
    CU_ASSERT_EQUAL(store_close(first, NULL), 0);
    place_remove(&place);
}

static void test_durable_after_a_second(void)
{
    const struct place place = place_make();
    struct store *store = example_create(&place);
    int64_t level = -1;
    CU_ASSERT_EQUAL(store_scalar(store, "PRAGMA synchronous", &level, NULL), 0);
    /* On a slow machine the second may have passed while the example was written. */
    CU_ASSERT_TRUE(level == 0 ||
                   sprof_clock_monotonic_ns() - store->opened_ns >= UINT64_C(1000000000));
    store->opened_ns -= 2000000000;
    CU_ASSERT_EQUAL(store_write(store, &(struct store_batch){0}, NULL), 0);
    CU_ASSERT_EQUAL(store_scalar(store, "PRAGMA synchronous", &level, NULL), 0);
    CU_ASSERT_EQUAL(level, 1);
    store_close(store, NULL);
    place_remove(&place);
}

void sprof_suite_store_database(void);
void sprof_suite_store_database(void)
{
    CU_pSuite suite = CU_add_suite("store/database", NULL, NULL);
    CU_add_test(suite, "one number", test_scalar);
    CU_add_test(suite, "transactions", test_transaction);
    CU_add_test(suite, "another writer", test_another_writer_is_waited_for_and_told);
    CU_add_test(suite, "durable after a second", test_durable_after_a_second);
}
