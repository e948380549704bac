/* Fails the n-th allocation, for every n, of this library and of SQLite: each call says
 * SPROF_ENOMEM (or works), and everything can be closed. */
#include "tests/unit/scarce_memory.h"

#include "tests/unit/store/recording.h"

#include <sqlite3.h>

/* SQLite's own, through its interface. */
static sqlite3_mem_methods real_methods;

static void *failing_malloc(int size)
{
    return scarce_memory_allows() ? real_methods.xMalloc(size) : NULL;
}

static void *failing_realloc(void *memory, int size)
{
    return scarce_memory_allows() ? real_methods.xRealloc(memory, size) : NULL;
}

static int fail_sqlite(void)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods);
    sqlite3_mem_methods methods = real_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK;
}

static int restore_sqlite(void)
{
    sqlite3_shutdown();
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &real_methods) != SQLITE_OK;
}

/* Each returns the first error. */

static int write_all(const struct place *place, struct sprof_error *error)
{
    struct store *store;
    const struct store_run run = example_run();
    int status = store_create(&store, place->path, error);
    if (status)
        return status;
    status = example_write_raw(store, &run);
    if (!status)
        status = example_write_derived(store);
    const int closed = store_close(store, error);
    return status ? status : closed;
}

static int take_node(void *context, const struct store_node *node)
{
    (void)context, (void)node;
    return 0;
}

static int take_row(void *context, int columns, char *const *values, char *const *names)
{
    (void)context, (void)columns, (void)values, (void)names;
    return 0;
}

static int read_all(const struct place *place, struct sprof_error *error)
{
    struct store *store;
    struct store_quality quality;
    int status = store_open_read(&store, place->path, error);
    if (status)
        return status;
    status = store_each_node(store, take_node, NULL, error);
    if (!status)
        status = store_quality(store, 1, &quality, error);
    if (!status)
        status =
            store_query(store, "SELECT * FROM v_call_tree ORDER BY path", take_row, NULL, error);
    if (!status)
        status = store_query(store, "SELECT * FROM v_call ORDER BY thread_id, start_ns", take_row,
                             NULL, error);
    const int closed = store_close(store, error);
    return status ? status : closed;
}

/* Runs it with ever more allocations allowed, `step` more each time, until it works; the steps
 * grow, for SQLite makes thousands. */
static void fail_each(int (*run)(const struct place *, struct sprof_error *), bool makes)
{
    long failures = 0;
    for (long allowed_now = 0;; allowed_now += 1 + allowed_now / 12) {
        const struct place place = place_make();
        struct sprof_error error = {0};
        if (!makes)
            example_make(&place);
        scarce_memory_set(allowed_now + 1);
        const int status = run(&place, &error);
        const bool ran_out = scarce_memory_ran_out();
        scarce_memory_set(-1);
        place_remove(&place);
        /* SQLite survives a failure here and there by doing without. */
        CU_ASSERT_TRUE(status == 0 || (ran_out && status == SPROF_ENOMEM));
        if (status && status != SPROF_ENOMEM)
            fprintf(stderr, "\nat %ld: %d %s\n", allowed_now, status, error.message);
        failures += status != 0;
        if (!ran_out)
            break;
    }
    CU_ASSERT_TRUE(failures > 30);
}

static void test_writing(void)
{
    fail_each(write_all, true);
}

static void test_reading(void)
{
    fail_each(read_all, false);
}

void sprof_suite_store_memory(void);
void sprof_suite_store_memory(void)
{
    CU_pSuite suite = CU_add_suite("store/memory", fail_sqlite, restore_sqlite);
    CU_add_test(suite, "writing", test_writing);
    CU_add_test(suite, "reading", test_reading);
}
