/* The views over the worked example: every row of its tables in docs/design/reading.md. */
#include "tests/unit/store/recording.h"

static void test_functions(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT function, module, kind, exclusive_samples, inclusive_samples FROM "
                 "v_function WHERE run_id = 1 AND event = 'cpu-clock' ORDER BY function_id",
                 "A1|prog|app|1|6 A2|prog|app|2|5 A3|prog|app|0|2 S1|libs.so|system|0|3 "
                 "S2|libs.so|system|3|3 [not sampled]|[none]|none|0|0");
    ASSERT_QUERY(example.store,
                 "SELECT exclusive_weight, inclusive_weight FROM v_function "
                 "WHERE function IN ('A2', '[not sampled]')",
                 "2006018|5015045 2000000|2000000");
}

static void test_modules(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT run_id, event, module, build_id, kind, exclusive_samples, "
                 "inclusive_samples, exclusive_weight, inclusive_weight FROM v_module LIMIT 2",
                 "1|cpu-clock|prog|0abcdef0|app|3|6|3009027|6018054 "
                 "1|cpu-clock|libs.so|-|system|3|3|3009027|3009027");
}

static void test_call_tree(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT path, exclusive_samples, inclusive_samples FROM v_call_tree "
                 "WHERE path LIKE 'A1%' ORDER BY path_id",
                 "A1|1|6 A1;A2|1|3 A1;A2;S1|0|2 A1;A2;S1;S2|2|2 A1;A3|0|2 A1;A3;A2|1|2 "
                 "A1;A3;A2;S1|0|1 A1;A3;A2;S1;S2|1|1");
    ASSERT_QUERY(example.store,
                 "SELECT run_id, event, path_id, parent_id, depth, function, module, "
                 "exclusive_weight, inclusive_weight FROM v_call_tree WHERE path = 'A1;A2'",
                 "1|cpu-clock|2|1|2|A2|prog|1003009|3009027");
}

static void test_edges(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT caller, caller_module, callee, callee_module, samples, weight FROM v_edge "
                 "WHERE run_id = 1 AND event = 'cpu-clock' ORDER BY caller, callee",
                 "A1|prog|A2|prog|3|3009027 A1|prog|A3|prog|2|2006018 A2|prog|S1|libs.so|3|3009027 "
                 "A3|prog|A2|prog|2|2006018 S1|libs.so|S2|libs.so|3|3009027");
}

static void test_lines(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT file, line, function, module, exclusive_samples, inclusive_samples "
                 "FROM v_line WHERE run_id = 1 AND event = 'cpu-clock' AND file NOT NULL "
                 "ORDER BY file, line",
                 "main.c|10|A1|prog|1|6 main.c|20|A2|prog|1|3 main.c|21|A2|prog|1|2 "
                 "main.c|31|A3|prog|0|2 sys.c|5|S1|libs.so|0|3 sys.c|9|S2|libs.so|3|3");
    ASSERT_QUERY(example.store,
                 "SELECT exclusive_weight, inclusive_weight FROM v_line WHERE line = 20",
                 "1003009|3009027");
}

static void test_threads(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT run_id, event, pid, tid, process, thread, samples, weight, cpu_time_ns "
                 "FROM v_thread ORDER BY tid",
                 "1|cpu-clock|100|100|prog|prog|5|5015045|- "
                 "1|cpu-clock|100|101|prog|worker|1|1003009|1003009 "
                 "1|cpu-clock|200|200|child|child|0|2000000|2000000");
}

static void test_samples(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT time_ns, pid, tid, cpu, printf('%x', address), end_reason, stitched, "
                 "depth, leaf, path FROM v_sample WHERE run_id = 1 AND event = 'cpu-clock' "
                 "AND weight = 1003009 ORDER BY time_ns",
                 "10|100|100|0|400000|root|0|1|A1|A1 "
                 "20|100|100|0|400100|root|0|2|A2|A1;A2 "
                 "30|100|100|0|7f0000000600|root|1|4|S2|A1;A2;S1;S2 "
                 "50|100|100|0|7f1000000600|root|0|4|S2|A1;A2;S1;S2 "
                 "55|100|100|0|7f1000000600|root|0|4|S2|A1;A3;A2;S1;S2 "
                 "60|100|101|0|400200|truncated|0|2|A2|A1;A3;A2");
}

static void test_quality(void)
{
    ASSERT_QUERY(example.store,
                 "SELECT run_id, samples, lost, user_stacks, whole_stacks, stitched, "
                 "guessed_frames, frames, named_frames, requested_hz, round(reached_hz), "
                 "own_cpu_ns, target_cpu_ns FROM v_quality",
                 "1|6|3|6|4|1|1|17|14|997.0|997.0|20000000|6018054");
}

static void test_quality_of_program_counters(void)
{
    const struct place other = place_make();
    struct store *pc;
    struct store_run run = example_run();
    run.mode = "pc";
    CU_ASSERT_EQUAL_FATAL(store_create(&pc, other.path, NULL), 0);
    CU_ASSERT_EQUAL(example_write_raw(pc, &run), 0);
    ASSERT_QUERY(pc, "SELECT samples, user_stacks, whole_stacks FROM v_quality", "6|-|-");
    struct store_quality quality;
    CU_ASSERT_EQUAL(store_quality(pc, 1, &quality, NULL), 0);
    CU_ASSERT_FALSE(quality.has_user_stacks);
    CU_ASSERT_EQUAL(quality.tails_dropped, 0);
    struct store_counter counters[] = {
        {.run_id = 1, .name = "sampler.tails_dropped", .value = 2},
        {.run_id = 1, .name = "samples.waited_tails_dropped", .value = 3},
        {.run_id = 1, .name = "sampler.tails", .value = 100}};
    const struct store_batch batch = {.counters = {counters, 3, 0}};
    CU_ASSERT_EQUAL(store_write(pc, &batch, NULL), 0);
    CU_ASSERT_EQUAL(store_quality(pc, 1, &quality, NULL), 0);
    CU_ASSERT_EQUAL(quality.tails_dropped, 5);
    store_close(pc, NULL);
    place_remove(&other);
}

/* A run that is not complete has no derived rows: its samples are added up. */
static void test_unfinished_runs_are_added_up(void)
{
    const struct place other = place_make();
    struct store *young;
    const struct store_run run = example_run();
    CU_ASSERT_EQUAL_FATAL(store_create(&young, other.path, NULL), 0);
    CU_ASSERT_EQUAL(example_write_raw(young, &run), 0);
    ASSERT_QUERY(young, "SELECT samples, whole_stacks, frames, guessed_frames FROM v_quality",
                 "6|4|17|1");
    ASSERT_QUERY(young, "SELECT tid, samples, weight FROM v_thread ORDER BY tid",
                 "100|5|5015045 101|1|1003009 200|0|2000000");
    store_close(young, NULL);
    place_remove(&other);
}

static void test_words(void)
{
    ASSERT_QUERY(example.store, "SELECT run_id, state, mode, frame, app_interior FROM v_run",
                 "1|complete|full|-|keep");
    ASSERT_QUERY(example.store, "SELECT run_id, mode, end_ns, paused, mark FROM v_phase",
                 "1|full|2000000000|0|-");
    ASSERT_QUERY(example.store, "SELECT word FROM word WHERE list = 'end_reason' ORDER BY number",
                 "root truncated no-cfi bad-memory depth-limit pending no-stack");
}

/* A path of thousands of functions does not grow without bound. */
static void test_deep_path_is_cut(void)
{
    const struct place other = place_make();
    struct store *deep = example_create(&other);
    struct store_derived derived = {0};
    CU_ASSERT_EQUAL(
        sprof_vec_push(&derived.functions,
                       (struct store_function){.id = 1, .module_id = 1, .key = 1, .name = "f"}),
        0);
    for (uint32_t i = 1; i <= 600; i++) {
        const struct model_path path = {.id = i, .parent = i - 1, .function = 1, .depth = i};
        const struct store_cost cost = {
            .run_id = 1, .event_id = 1, .id = i, .costs = {{0, 0}, {1, 1}}};
        CU_ASSERT_EQUAL(sprof_vec_push(&derived.paths, path), 0);
        CU_ASSERT_EQUAL(sprof_vec_push(&derived.path_costs, cost), 0);
    }
    CU_ASSERT_EQUAL(store_write_derived(deep, &derived, NULL), 0);
    ASSERT_QUERY(deep,
                 "SELECT length(path), substr(path, -3) FROM v_call_tree WHERE depth IN (512, 600)",
                 "1023|f;f 1025|f;…");
    store_derived_release(&derived);
    store_close(deep, NULL);
    place_remove(&other);
}

void sprof_suite_store_views(void);
void sprof_suite_store_views(void)
{
    CU_pSuite suite = CU_add_suite("store/views", example_open, example_close);
    CU_add_test(suite, "functions", test_functions);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "call tree", test_call_tree);
    CU_add_test(suite, "edges", test_edges);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "threads", test_threads);
    CU_add_test(suite, "samples", test_samples);
    CU_add_test(suite, "quality", test_quality);
    CU_add_test(suite, "quality in mode pc", test_quality_of_program_counters);
    CU_add_test(suite, "unfinished runs are added up", test_unfinished_runs_are_added_up);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "a very deep path is cut", test_deep_path_is_cut);
}
