/* Every row of rows.h goes into the database and comes back the same. */
#include "store/statement.h"
#include "tests/unit/store/recording.h"

#include "unwind/unwind.h"

#include <string.h>

static int check_run(void *context, const struct store_run *run)
{
    const struct store_run wrote = example_run();
    ++*(int *)context;
    CU_ASSERT_EQUAL(run->key, wrote.key);
    CU_ASSERT_EQUAL(run->state, STORE_COMPLETE);
    CU_ASSERT_STRING_EQUAL(run->command, wrote.command);
    CU_ASSERT_PTR_NULL(run->targets);
    CU_ASSERT_PTR_NULL(run->frame);
    CU_ASSERT_STRING_EQUAL(run->module_rules, wrote.module_rules);
    CU_ASSERT_STRING_EQUAL(run->boot_id, wrote.boot_id);
    CU_ASSERT_EQUAL(run->frequency_hz, 997);
    CU_ASSERT_EQUAL(run->start_realtime_ns, wrote.start_realtime_ns);
    CU_ASSERT_EQUAL(run->target_cpu_ns, wrote.target_cpu_ns);
    CU_ASSERT_EQUAL(run->recorder_pid, 4);
    CU_ASSERT_EQUAL(run->wait_status, 256);
    return 0;
}

static void test_run(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(store_each_run(example.store, check_run, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 1);
}

static int check_module(void *context, const struct store_module *module)
{
    const uint8_t expected[] = {0x0a, 0xbc, 0xde, 0xf0};
    ++*(int *)context;
    if (module->id == 1) {
        CU_ASSERT_EQUAL(module->key, UINT64_MAX);
        CU_ASSERT_EQUAL_FATAL(module->build_id.size, sizeof expected);
        CU_ASSERT_EQUAL(memcmp(module->build_id.data, expected, sizeof expected), 0);
        CU_ASSERT_TRUE(module->main_executable);
    }
    if (module->id == 2) {
        CU_ASSERT_EQUAL(module->key, 0);
        CU_ASSERT_EQUAL(module->build_id.size, 0);
        CU_ASSERT_EQUAL(module->kind, MODEL_KIND_SYSTEM);
        CU_ASSERT_STRING_EQUAL(module->problem, "deleted");
    }
    return 0;
}

static void test_module(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(store_each_module(example.store, check_module, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 4);
}

static int check_failed(void *context, const struct store_failed *failed)
{
    ++*(int *)context;
    CU_ASSERT_EQUAL(failed->end_reason, MODEL_END_TRUNCATED);
    CU_ASSERT_EQUAL(failed->registers.size, 17 * 8);
    CU_ASSERT_EQUAL_FATAL(failed->stack.size, 5);
    CU_ASSERT_EQUAL(failed->stack.data[4], 255);
    return 0;
}

static void test_failed(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(store_each_failed(example.store, 1, check_failed, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 1);
}

static int check_ledger(void *context, const struct store_ledger *ledger)
{
    *(int64_t *)context += ledger->unexplained;
    return 0;
}

static void test_negative_numbers(void)
{
    int64_t unexplained = 0;
    CU_ASSERT_EQUAL(store_each_ledger(example.store, 1, check_ledger, &unexplained, NULL), 0);
    CU_ASSERT_EQUAL(unexplained, -1);
}

static int check_mapping(void *context, const struct store_mapping *mapping)
{
    ++*(int *)context;
    if (mapping->id == 4) {
        CU_ASSERT_EQUAL(mapping->process_id, 0);
        CU_ASSERT_EQUAL(mapping->start, 0xffffffff80000000);
        CU_ASSERT_EQUAL(mapping->end, 0xffffffffc0000000);
    }
    return 0;
}

static void test_kernel_addresses(void)
{
    int count = 0;
    CU_ASSERT_EQUAL(store_each_mapping(example.store, 1, check_mapping, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 4);
}

/* The words of the database are those of the libraries that own the enums. */
static void test_words(void)
{
    static const char *const found_by[] = {"cfi",  "plt",    "signal", "fp",
                                           "scan", "kernel", "inline"};
    static const enum model_found_by found_by_values[] = {
        MODEL_BY_CFI,  MODEL_BY_PLT,    MODEL_BY_SIGNAL, MODEL_BY_FP,
        MODEL_BY_SCAN, MODEL_BY_KERNEL, MODEL_BY_INLINE};
    const struct place other = place_make();
    struct store *all = example_create(&other);
    struct store_batch batch = {0};
    for (uint32_t i = 0; i < 7; i++)
        CU_ASSERT_EQUAL(
            sprof_vec_push(&batch.nodes,
                           (struct store_node){.id = 100 + i,
                                               .frame_id = 1,
                                               .depth = 1,
                                               .found_by = (uint8_t)found_by_values[i]}),
            0);
    for (uint32_t i = 0; i <= MODEL_END_NO_STACK; i++)
        CU_ASSERT_EQUAL(
            sprof_vec_push(&batch.samples, (struct store_sample){.run_id = 1,
                                                                 .event_id = 1,
                                                                 .thread_id = 1,
                                                                 .node_id = 1,
                                                                 .time_ns = 5000 + i,
                                                                 .end_reason = (uint8_t)i}),
            0);
    for (uint32_t i = 0; i <= MODEL_KIND_JIT; i++)
        CU_ASSERT_EQUAL(
            sprof_vec_push(&batch.modules,
                           (struct store_module){
                               .id = 50 + i, .path = "p", .name = "n", .kind = (enum model_kind)i}),
            0);
    CU_ASSERT_EQUAL(store_write(all, &batch, NULL), 0);
    for (uint32_t i = 0; i < 7; i++) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "SELECT word FROM stack_node JOIN word ON list = 'found_by' AND number = found_by"
                 " WHERE id = %u",
                 100 + i);
        ASSERT_QUERY(all, sql, found_by[i]);
    }
    ASSERT_QUERY(all,
                 "SELECT word FROM sample JOIN word ON list = 'end_reason' AND number = end_reason"
                 " WHERE time_ns >= 5000 ORDER BY time_ns",
                 "root truncated no-cfi bad-memory depth-limit pending no-stack");
    for (int i = 0; i <= MODEL_KIND_JIT; i++) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "SELECT word FROM module JOIN word ON list = 'kind' AND number = kind"
                 " WHERE id = %d",
                 50 + i);
        ASSERT_QUERY(all, sql, model_kind_text((enum model_kind)i));
    }
    store_batch_release(&batch);
    store_close(all, NULL);
    place_remove(&other);
}

static void test_numbers_at_their_ends(void)
{
    const struct place other = place_make();
    struct store *all = example_create(&other);
    struct store_batch batch = {0};
    struct store_sample sample = {.id = 99,
                                  .run_id = 1,
                                  .event_id = 1,
                                  .thread_id = 1,
                                  .node_id = 1,
                                  .time_ns = UINT64_MAX,
                                  .weight = UINT64_MAX,
                                  .count = 1,
                                  .cpu = INT32_MAX,
                                  .end_reason = MODEL_END_NO_STACK};
    CU_ASSERT_EQUAL(sprof_vec_push(&batch.samples, sample), 0);
    sample.id = 100; /* what stands for several samples has no CPU */
    sample.count = UINT64_MAX;
    sample.stitched = sample.user_stack = true;
    CU_ASSERT_EQUAL(sprof_vec_push(&batch.samples, sample), 0);
    CU_ASSERT_EQUAL(store_write(all, &batch, NULL), 0);
    ASSERT_QUERY(all, "SELECT time_ns, weight, count, cpu, end_reason FROM sample WHERE id = 99",
                 "9223372036854775807|9223372036854775807|1|2147483647|6");
    ASSERT_QUERY(all,
                 "SELECT count, cpu, end_reason, stitched, user_stack FROM sample WHERE id = 100",
                 "144115188075855871|-1|6|1|1");
    store_batch_release(&batch);
    store_close(all, NULL);
    place_remove(&other);
}

static void test_word_unknown_to_this_version_is_refused(void)
{
    const struct place other = place_make();
    struct store *all = example_create(&other);
    const struct store_node node = {.id = 300, .frame_id = 1, .depth = 1, .found_by = 200};
    struct sprof_error error = {0};
    const struct store_batch batch = {.nodes = {(struct store_node *)&node, 1, 0}};
    CU_ASSERT_EQUAL(store_write(all, &batch, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "stack_node.packed"));
    store_close(all, NULL);
    place_remove(&other);
}

/* Changes one value behind sprof's back, and returns what reading says then. */
static int read_after(const char *sql, int (*read)(struct store *, struct sprof_error *))
{
    const struct place other = place_make();
    struct store *all;
    struct sprof_error error = {0};
    sqlite3 *database;
    example_make(&other);
    CU_ASSERT_EQUAL(sqlite3_open(other.path, &database), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(database, "PRAGMA ignore_check_constraints = ON", 0, 0, 0), 0);
    CU_ASSERT_EQUAL(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&all, other.path, NULL), 0);
    const int status = read(all, &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, other.path));
    store_close(all, NULL);
    place_remove(&other);
    return status;
}

static int take_node(void *context, const struct store_node *node)
{
    (void)context, (void)node;
    return 0;
}

static int read_nodes(struct store *from, struct sprof_error *error)
{
    return store_each_node(from, take_node, NULL, error);
}

static int take_module(void *context, const struct store_module *module)
{
    (void)context, (void)module;
    return 0;
}

static int read_modules(struct store *from, struct sprof_error *error)
{
    return store_each_module(from, take_module, NULL, error);
}

static void test_impossible_values_are_damage(void)
{
    static const char *const of_nodes[] = {
        "UPDATE stack_node SET packed = 3 << 4 | 15 WHERE id = 3",
        "UPDATE stack_node SET packed = -1 WHERE id = 3",
        "UPDATE stack_node SET packed = packed & 15 WHERE id = 3",
        "UPDATE stack_node SET frame_id = 1 << 32 WHERE id = 3",
        "UPDATE stack_node SET parent_distance = 3 WHERE id = 3",
        "UPDATE stack_node SET parent_distance = 5 WHERE id = 3",
        "UPDATE stack_node SET parent_distance = -2 WHERE id = 3",
    };
    static const char *const of_modules[] = {
        "UPDATE module SET build_id = 'abc' WHERE id = 1",
        "UPDATE module SET build_id = 'XY' WHERE id = 1",
        "UPDATE module SET build_id = hex(zeroblob(65)) WHERE id = 1",
    };
    for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
        CU_ASSERT_EQUAL(read_after(of_nodes[i], read_nodes), SPROF_EFORMAT);
    for (size_t i = 0; i < sizeof of_modules / sizeof *of_modules; i++)
        CU_ASSERT_EQUAL(read_after(of_modules[i], read_modules), SPROF_EFORMAT);
}

void sprof_suite_store_statement(void);
void sprof_suite_store_statement(void)
{
    CU_pSuite suite = CU_add_suite("store/statement", example_open, example_close);
    CU_add_test(suite, "run", test_run);
    CU_add_test(suite, "module", test_module);
    CU_add_test(suite, "failed sample", test_failed);
    CU_add_test(suite, "negative numbers", test_negative_numbers);
    CU_add_test(suite, "kernel addresses", test_kernel_addresses);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "numbers at their ends", test_numbers_at_their_ends);
    CU_add_test(suite, "an unknown word", test_word_unknown_to_this_version_is_refused);
    CU_add_test(suite, "impossible values are damage", test_impossible_values_are_damage);
}
