/* The views over a recording of some size: a query plan that looks at every row for every row shows
 * here, and only here. */
#include "store/database.h"
#include "tests/unit/store/recording.h"

enum {
    NODES = 8000,
    SAMPLES = 24000,
    MAX_DEPTH = 40,
    FUNCTIONS = 500,
    /* Of SQLite's machine, which are the same everywhere; nodes times samples would be 192 million.
     */
    STEPS_COUNTED = 1000,
    ALLOWED_STEPS = 40000000,
};

static struct place place;
static struct store *store;

/* Chains with branches, as stacks are. */
static uint32_t parent_of(uint32_t id, const uint32_t *depths)
{
    const uint64_t random = sprof_hash_mix(id);
    if (id == 1)
        return 0;
    if (random % 3 && depths[id - 1] < MAX_DEPTH)
        return id - 1;
    const uint32_t branch = 1 + (uint32_t)(random >> 8) % (id - 1);
    return depths[branch] < MAX_DEPTH ? branch : 0;
}

static int add_nodes(struct store_batch *batch, struct store_derived *derived)
{
    static uint32_t depths[NODES + 1];
    int status = 0;
    for (uint32_t id = 1; id <= NODES && !status; id++) {
        const uint32_t parent = parent_of(id, depths), function = 1 + id % FUNCTIONS;
        depths[id] = parent ? depths[parent] + 1 : 1;
        const struct store_frame frame = {.id = id,
                                          .module_id = 1,
                                          .file_offset = id * 8,
                                          .key = id,
                                          .function_id = function,
                                          .file = "f.c",
                                          .line = id % 900};
        const struct store_node node = {
            .id = id, .parent_id = parent, .frame_id = id, .depth = depths[id]};
        const struct model_path path = {
            .id = id, .parent = parent, .function = function, .depth = depths[id]};
        const struct store_cost cost = {
            .run_id = 1, .event_id = 1, .id = id, .costs = {{1, 1}, {1, 1}}};
        status = sprof_vec_push(&batch->frames, frame) || sprof_vec_push(&batch->nodes, node) ||
                 sprof_vec_push(&derived->paths, path) ||
                 sprof_vec_push(&derived->node_paths, (struct store_node_path){id, id}) ||
                 sprof_vec_push(&derived->path_costs, cost) ||
                 (id <= 900 && sprof_vec_push(&derived->line_costs, cost));
    }
    return status;
}

static int add_samples(struct store_batch *batch)
{
    int status = 0;
    for (uint32_t i = 0; i < SAMPLES && !status; i++) {
        const struct store_sample sample = {.run_id = 1,
                                            .event_id = 1,
                                            .thread_id = 1,
                                            .node_id = 1 + (uint32_t)sprof_hash_mix(i) % NODES,
                                            .time_ns = i * 1000,
                                            .weight = 1,
                                            .count = 1};
        status = sprof_vec_push(&batch->samples, sample);
    }
    return status;
}

static int fill(struct store_batch *batch, struct store_derived *derived)
{
    int status = add_nodes(batch, derived) || add_samples(batch);
    for (uint32_t id = 1; id <= FUNCTIONS && !status; id++)
        status =
            sprof_vec_push(&derived->functions,
                           (struct store_function){
                               .id = id, .module_id = 1, .key = id, .name = "name", .named = true});
    return status || store_write(store, batch, NULL) || store_write_derived(store, derived, NULL);
}

static int open_large(void)
{
    place = place_make();
    store = example_create(&place);
    struct store_batch batch = {0};
    struct store_derived derived = {0};
    const int status = fill(&batch, &derived);
    store_batch_release(&batch);
    store_derived_release(&derived);
    return status;
}

static int close_large(void)
{
    store_close(store, NULL);
    place_remove(&place);
    return 0;
}

static int count_row(void *count, int columns, char *const *values, char *const *names)
{
    (void)columns, (void)values, (void)names;
    ++*(uint64_t *)count;
    return 0;
}

static int count_steps(void *steps)
{
    *(uint64_t *)steps += STEPS_COUNTED;
    return 0;
}

static void test_views_take_few_steps(void)
{
    static const struct {
        const char *sql;
        uint64_t least_rows;
    } queries[] = {
        {"SELECT * FROM v_call_tree", NODES},
        {"SELECT * FROM v_call_tree ORDER BY inclusive_samples DESC", NODES},
        {"SELECT * FROM v_line", 900},
        {"SELECT * FROM v_thread", 3},
        {"SELECT * FROM v_sample", SAMPLES},
        {"SELECT * FROM v_sample WHERE run_id = 1 ORDER BY time_ns LIMIT 10", 10},
        {"SELECT * FROM v_quality WHERE run_id = 1", 1},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        uint64_t rows = 0, steps = 0;
        sqlite3_progress_handler(store->database, STEPS_COUNTED, count_steps, &steps);
        CU_ASSERT_EQUAL(store_query(store, queries[i].sql, count_row, &rows, NULL), 0);
        sqlite3_progress_handler(store->database, 0, NULL, NULL);
        CU_ASSERT_TRUE(steps < ALLOWED_STEPS);
        CU_ASSERT_TRUE(rows >= queries[i].least_rows);
        if (steps >= ALLOWED_STEPS || rows < queries[i].least_rows)
            fprintf(stderr, "\n%s: %llu steps, %llu rows\n", queries[i].sql,
                    (unsigned long long)steps, (unsigned long long)rows);
    }
}

void sprof_suite_store_scale(void);
void sprof_suite_store_scale(void)
{
    CU_pSuite suite = CU_add_suite("store/scale", open_large, close_large);
    CU_add_test(suite, "views take few steps", test_views_take_few_steps);
}
