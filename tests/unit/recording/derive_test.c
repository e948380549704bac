#include "recording/recording.h"
#include "tests/unit/recording/handmade.h"

/* == The numbers == */

static void test_the_worked_example(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_FUNCTIONS, "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, HAND_PATHS,
                    "A1|1|6 A1;A2|1|3 A1;A2;S|0|2 A1;A2;S;S|2|2 A1;A3|0|2 "
                    "A1;A3;A2|1|2 A1;A3;A2;S|0|1 A1;A3;A2;S;S|1|1");
    ASSERT_HANDMADE(&made,
                    "SELECT module, exclusive_samples, inclusive_samples FROM v_module"
                    " ORDER BY module",
                    "libgone.so|3|3 program|3|6");
    ASSERT_HANDMADE(&made, "SELECT caller, callee, samples FROM v_edge ORDER BY caller, callee",
                    "A1|A2|3 A1|A3|2 A2|libgone.so|3 A3|A2|2 "
                    "libgone.so|libgone.so|3");
    ASSERT_HANDMADE(&made, "SELECT samples, frames, named_frames FROM v_quality", "6|19|13");
    ASSERT_HANDMADE(&made, "SELECT state FROM v_run", "complete");
    ASSERT_HANDMADE(
        &made, "SELECT count(*) FROM sample WHERE node_id NOT IN (SELECT node_id FROM node_path)",
        "0");
    ASSERT_HANDMADE(&made, "SELECT name FROM module WHERE problem IS NOT NULL", "libgone.so");
    ASSERT_HANDMADE(&made, "SELECT named, start > 0, size > 0 FROM function WHERE name = 'A1'",
                    "1|1|1");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function WHERE file LIKE '%program.c'", "3");
    handmade_close(&made);
}

static void test_start_up_code_is_marked(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, handmade_node(&made, 0, HAND_START, 0));
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT name FROM function WHERE startup", "_start");
    ASSERT_HANDMADE(&made, "SELECT path FROM v_call_tree WHERE depth <= 2 ORDER BY depth",
                    "_start _start;A1");
    handmade_close(&made);
}

/* CPU time that was never sampled has weight and no count. */
static void test_weight_without_samples(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    made.batch.frames.items[HAND_OUTSIDE - 1].file_offset = 2; /* "[not sampled]" */
    handmade_node(&made, 0, HAND_OUTSIDE, 1);
    made.batch.samples.items[0].count = 0;
    made.batch.samples.items[0].weight = 5000;
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT function, kind, inclusive_samples, inclusive_weight"
                    " FROM v_function",
                    "[not sampled]|none|0|5000");
    handmade_close(&made);
}

static uint32_t add_frame(struct handmade *made, uint32_t module, uint64_t offset)
{
    const struct store_frame frame = {
        .id = (uint32_t)made->batch.frames.count + 1, .module_id = module, .file_offset = offset};
    CU_ASSERT_EQUAL(sprof_vec_push(&made->batch.frames, frame), 0);
    return frame.id;
}

/* Files with many addresses are read by threads; what has no file is not read as the one behind
 * it. */
static void test_many_addresses_beside_others(void)
{
    enum { MANY = 80, AGAIN = HAND_KERNEL + 1, MODULES = AGAIN + 2 };
    struct handmade made;
    uint64_t size;
    handmade_make(&made, "full", STORE_RECORDED);
    const uint64_t offset = handmade_offset(&made, "A1", &size);
    for (uint32_t id = HAND_NONE + 1; id <= MODULES; id++) {
        const bool is_file = id >= AGAIN;
        const struct store_module module = {.id = id,
                                            .path = is_file ? made.program : "[none]",
                                            .name = is_file ? "program" : "[none]",
                                            .kind = is_file ? MODEL_KIND_APP : MODEL_KIND_NONE};
        CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.modules, module), 0);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        handmade_node(&made, 0, add_frame(&made, HAND_KERNEL, 2), 1); /* "[not sampled]" */
        for (uint32_t id = AGAIN; id <= MODULES; id++)
            handmade_node(&made, 0, add_frame(&made, id, offset + i % size), 1);
    }
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT function, sum(inclusive_samples) FROM v_function"
                    " GROUP BY function ORDER BY function",
                    "A1|240 [not sampled]|80");
    handmade_close(&made);
}

static void test_events_have_costs_of_their_own(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    const size_t count = made.batch.samples.count;
    for (size_t i = 0; i < count; i += 2) {
        struct store_sample sample = made.batch.samples.items[i];
        sample.event_id = 2;
        sample.weight = 1000;
        CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.samples, sample), 0);
    }
    handmade_write(&made);
    handmade_execute(&made, "INSERT INTO event SELECT 2, run_id, 'instructions', 0, 0, 1000, 0"
                            " FROM event");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT event, sum(exclusive_samples), sum(exclusive_weight) > 6000000"
                    " FROM v_function GROUP BY event ORDER BY event",
                    "cpu-clock|6|1 instructions|3|0");
    ASSERT_HANDMADE(&made,
                    "SELECT function, inclusive_samples FROM v_function"
                    " WHERE event = 'instructions' AND exclusive_samples ORDER BY function",
                    "A1|3 A2|2 libgone.so|1");
    ASSERT_HANDMADE(&made,
                    "SELECT event, sum(exclusive_samples) FROM v_call_tree GROUP BY event"
                    " UNION ALL SELECT event, sum(exclusive_samples) FROM v_module"
                    " GROUP BY event UNION ALL SELECT event, max(samples) FROM v_edge"
                    " GROUP BY event",
                    "cpu-clock|6 instructions|3 cpu-clock|6 instructions|3 cpu-clock|3 "
                    "instructions|1");
    handmade_close(&made);
}

static void test_inlined_functions_are_levels(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    uint64_t size;
    const uint64_t offset = handmade_offset(&made, "around", &size);
    for (uint64_t i = 0; i < size; i++) {
        const struct store_frame frame = {.id = (uint32_t)made.batch.frames.count + 1,
                                          .module_id = HAND_PROGRAM,
                                          .file_offset = offset + i};
        CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.frames, frame), 0);
        handmade_node(&made, 0, frame.id, 1);
    }
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT path FROM v_call_tree ORDER BY path", "around around;within");
    ASSERT_HANDMADE(&made,
                    "SELECT exclusive_samples > 0, exclusive_samples = inclusive_samples"
                    " FROM v_call_tree WHERE path = 'around;within'",
                    "1|1");
    ASSERT_HANDMADE(&made,
                    "SELECT DISTINCT i.name, o.name, x.inline_depth FROM frame f"
                    " JOIN function i ON i.id = f.function_id"
                    " JOIN frame x ON x.id = f.inline_parent_id"
                    " JOIN function o ON o.id = x.function_id",
                    "within|around|1");
    handmade_close(&made);
}

/* A line counts once a stack, however often it is on it. */
static void test_lines_count_once(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    uint32_t node = 0;
    for (int i = 0; i < 50; i++)
        node = handmade_node(&made, node, HAND_A2, i == 49 ? 4 : 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT function, exclusive_samples, inclusive_samples FROM v_line"
                    " WHERE file LIKE '%program.c' ORDER BY function",
                    "A1|1|6 A2|6|9 A3|0|2");
    ASSERT_HANDMADE(&made, "SELECT count(*), sum(exclusive_samples) FROM v_line", "4|10");
    handmade_close(&made);
}

/* Rows by node and by time where they are fewer than half the samples; then the sums agree with all
 * samples. */
static void test_costs_by_node_and_time(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    for (uint32_t frame = HAND_A1; frame <= HAND_A3; frame++)
        handmade_node(&made, 0, frame, 100);
    for (size_t i = 0; i < made.batch.samples.count; i++)
        made.batch.samples.items[i].time_ns = 10000000 * (i % 100);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT samples, has_node_costs, slot_ns FROM event_cost",
                    "300|1|100000000");
    ASSERT_HANDMADE(&made, "SELECT node_id, samples, squares FROM node_cost",
                    "1|100|- 2|100|- 3|100|-");
    ASSERT_HANDMADE(&made, "SELECT count(*), min(samples), max(samples), max(slot) FROM slot_cost",
                    "30|10|10|9");
    ASSERT_HANDMADE(&made, "SELECT first_sample, last_sample, disorder_ns FROM sample_summary",
                    "1|300|990000000");
    handmade_close(&made);
}

/* Many slots with few samples each become fewer, longer ones. */
static void test_slots_are_as_long_as_they_must_be(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_node(&made, 0, HAND_A1, 64);
    for (size_t i = 0; i < made.batch.samples.count; i++)
        made.batch.samples.items[i].time_ns = 100000000 * i;
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT slot_ns FROM event_cost", "400000000");
    ASSERT_HANDMADE(&made, "SELECT count(*), sum(samples), max(slot) FROM slot_cost", "16|64|15");
    handmade_close(&made);
}

/* == Again and again == */

static const char *const derived_tables[] = {
    "SELECT * FROM function ORDER BY id",
    "SELECT * FROM frame ORDER BY id",
    "SELECT * FROM module ORDER BY id",
    "SELECT * FROM stack_node ORDER BY id",
    "SELECT * FROM node_path ORDER BY node_id",
    "SELECT * FROM call_path ORDER BY id",
    "SELECT * FROM path_cost ORDER BY path_id",
    "SELECT * FROM function_cost ORDER BY function_id",
    "SELECT * FROM module_cost ORDER BY module_id",
    "SELECT * FROM edge_cost ORDER BY 3, 4",
    "SELECT * FROM line_cost ORDER BY 3",
    "SELECT * FROM thread_cost",
    "SELECT * FROM place_cost",
    "SELECT * FROM event_cost",
    "SELECT * FROM sample_summary",
};
enum { DERIVED = sizeof derived_tables / sizeof *derived_tables };

static void test_deriving_twice_changes_nothing(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, handmade_node(&made, 0, HAND_START, 0));
    made.batch.frames.items[HAND_A3 - 1].file_offset = handmade_offset(&made, "around", NULL) + 5;
    handmade_write(&made);
    handmade_must_derive(&made);
    char *first[DERIVED];
    for (int i = 0; i < DERIVED; i++)
        first[i] = strdup(handmade_query(&made, derived_tables[i]));
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    for (int i = 0; i < DERIVED; i++) {
        CU_ASSERT_TRUE(strlen(first[i]) > 10);
        assert_text(handmade_query(&made, derived_tables[i]), first[i]);
        free(first[i]);
    }
    handmade_close(&made);
}

/* The library is gone: its functions have no names, however often they are looked up. */
static void test_what_stays_unnamed_changes_no_sums(void)
{
    static const struct recording_derive_options unnamed = {.unnamed = true};
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*) > 0 FROM function WHERE NOT named", "1");
    handmade_execute(&made, "UPDATE path_cost SET inclusive_samples = 77");
    CU_ASSERT_EQUAL(recording_derive(made.path, &unnamed, NULL), 0);
    ASSERT_HANDMADE(&made, "SELECT DISTINCT inclusive_samples FROM path_cost", "77");
    ASSERT_HANDMADE(&made, "SELECT state FROM v_run", "complete");
    /* As if one of the program's had been missing, too: it is found, and added up. */
    handmade_execute(&made, "UPDATE function SET named = 0, name = 'prog' WHERE name = 'A1'");
    CU_ASSERT_EQUAL(recording_derive(made.path, &unnamed, NULL), 0);
    ASSERT_HANDMADE(&made, "SELECT inclusive_samples FROM v_function WHERE function = 'A1'", "6");
    ASSERT_HANDMADE(&made, "SELECT max(inclusive_samples) FROM path_cost", "6");
    handmade_close(&made);
}

static void test_a_complete_one_is_left_alone(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_COMPLETE);
    handmade_example(&made, 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function", "0");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, "SELECT count(*) > 0 FROM function", "1");
    handmade_close(&made);
}

static void test_a_killed_one_is_finished(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDING);
    handmade_example(&made, 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT state FROM v_run", "complete");
    ASSERT_HANDMADE(&made, "SELECT inclusive_samples FROM v_function WHERE function = 'A1'", "6");
    handmade_close(&made);
}

static void test_an_import_keeps_its_names(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_COMPLETE);
    made.run.source = "import";
    handmade_example(&made, 0);
    handmade_write(&made);
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function", "0");
    handmade_close(&made);
}

/* == Modes == */

static void test_application_part(void)
{
    struct handmade made;
    handmade_make(&made, "app", STORE_RECORDED);
    handmade_example(&made, handmade_node(&made, 0, HAND_START, 0));
    handmade_node(&made, 0, HAND_START, 2);   /* nothing but start-up code */
    handmade_node(&made, 0, HAND_OUTSIDE, 3); /* what the recorder had found outside already */
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_PATHS,
                    "A1|1|6 A1;A2|3|3 A1;A3|0|2 A1;A3;A2|2|2 [outside the application]|5|5");
    handmade_close(&made);
}

static void test_application_part_without_interior(void)
{
    struct handmade made;
    handmade_make(&made, "app", STORE_RECORDED);
    made.run.app_interior = "drop";
    const uint32_t a1 = handmade_node(&made, 0, HAND_A1, 0);
    const uint32_t s1 = handmade_node(&made, a1, HAND_S1, 0);
    handmade_node(&made, s1, HAND_A2, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_PATHS, "A1|0|1 A1;A2|1|1");
    handmade_close(&made);
}

static void test_application_frame(void)
{
    struct handmade made;
    handmade_make(&made, "pc", STORE_RECORDED);
    made.run.frame = "app";
    handmade_node(&made, 0, HAND_A2, 4);
    handmade_node(&made, 0, HAND_START, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_PATHS, "A2|4|4 [outside the application]|1|1");
    handmade_close(&made);
}

static void test_program_counter(void)
{
    struct handmade made;
    handmade_make(&made, "pc", STORE_RECORDED);
    handmade_node(&made, 0, HAND_A2, 4);
    handmade_node(&made, 0, HAND_S1, 2);
    handmade_node(&made, 0, HAND_START, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_PATHS, "A2|4|4 _start|1|1 S|2|2");
    handmade_close(&made);
}

/* == Modules == */

/* The same file by two names: without a build id its content makes them one. */
static void test_equal_content_is_one_module(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_copy_program(&made, "other");
    const char *other = fixture_path(&made.fixture, "other");
    const struct store_module copy = {
        .id = 9, .path = other, .name = "other", .kind = MODEL_KIND_APP};
    CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.modules, copy), 0);
    struct store_frame frame = made.batch.frames.items[HAND_A1 - 1];
    frame.id = 20;
    frame.module_id = copy.id;
    CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.frames, frame), 0);
    handmade_node(&made, 0, HAND_A1, 2);
    handmade_node(&made, 0, frame.id, 3);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_FUNCTIONS, "A1|5|5");
    ASSERT_HANDMADE(&made, "SELECT module, exclusive_samples FROM v_module", "program|5");
    ASSERT_HANDMADE(&made, "SELECT count(DISTINCT key) FROM module WHERE id IN (1, 9)", "1");
    ASSERT_HANDMADE(&made, "SELECT count(DISTINCT path_id) FROM node_path", "1");
    handmade_close(&made);
}

static void test_a_replaced_file_names_nothing(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    made.batch.modules.items[0].key = 12345;
    handmade_node(&made, 0, HAND_A1, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT function = 'program' FROM v_function", "1");
    ASSERT_HANDMADE(&made, "SELECT problem FROM module WHERE id = 1",
                    "the file was replaced since it was recorded");
    handmade_close(&made);
}

/* Without a build id nothing was known of a file that could not be read: it is not another one when
 * it can. */
static void test_a_file_that_comes_back(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    snprintf(made.program, sizeof made.program, "%s/moved", made.fixture.directory);
    handmade_node(&made, 0, HAND_A1, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT function = 'program' FROM v_function", "1");
    handmade_copy_program(&made, "moved");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, "SELECT function FROM v_function", "A1");
    ASSERT_HANDMADE(&made, "SELECT problem FROM module WHERE id = 1", "-");
    handmade_close(&made);
}

static void test_rules_change_kinds(void)
{
    static const struct model_kind_rule rules[] = {{MODEL_KIND_SYSTEM, "*/program"},
                                                   {MODEL_KIND_APP, "libgone*"}};
    struct handmade made;
    handmade_make(&made, "app", STORE_RECORDED);
    handmade_node(&made, handmade_node(&made, 0, HAND_A1, 0), HAND_S1, 1);
    handmade_write(&made);
    const struct recording_derive_options options = {.again = true, .rules = {rules, 2}};
    CU_ASSERT_EQUAL(recording_derive(made.path, &options, NULL), 0);
    ASSERT_HANDMADE(&made, HAND_PATHS, "S|1|1");
    ASSERT_HANDMADE(
        &made, "SELECT word FROM module JOIN word ON list = 'kind' AND number = kind ORDER BY id",
        "system app none");
    handmade_close(&made);
}

/* == Damage == */

static void expect_damaged(struct handmade *made)
{
    struct sprof_error error = {0};
    handmade_write(made);
    CU_ASSERT_EQUAL(handmade_derive(made, false, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
    ASSERT_HANDMADE(made, "SELECT state FROM v_run", "recorded");
    ASSERT_HANDMADE(made, "SELECT count(*) FROM function", "0");
    handmade_close(made);
}

static void test_a_node_without_frame(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_node(&made, 0, 4711, 1);
    expect_damaged(&made);
}

static void test_a_node_without_parent(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    const uint32_t node = handmade_node(&made, 0, HAND_A1, 1);
    made.batch.nodes.items[node - 1].id = 7;
    made.batch.nodes.items[node - 1].parent_id = 3;
    made.batch.samples.items[0].node_id = 7;
    expect_damaged(&made);
}

static void test_a_frame_without_module(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    made.batch.frames.items[HAND_A1 - 1].module_id = 4711;
    handmade_node(&made, 0, HAND_A1, 1);
    expect_damaged(&made);
}

static void test_no_place_outside_the_application(void)
{
    struct handmade made;
    handmade_make(&made, "app", STORE_RECORDED);
    made.batch.modules.count = made.batch.frames.count = 0;
    const struct store_module module = {
        .id = 1, .path = "/lib/x.so", .name = "x.so", .kind = MODEL_KIND_SYSTEM};
    const struct store_frame frame = {.id = 1, .module_id = 1, .file_offset = 1};
    CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.modules, module), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&made.batch.frames, frame), 0);
    handmade_node(&made, 0, 1, 1);
    expect_damaged(&made);
}

/* Ids from outside do not size memory. */
static void test_huge_ids(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    made.batch.modules.items[0].id = made.batch.frames.items[HAND_A1 - 1].module_id =
        UINT32_MAX - 1;
    made.batch.frames.count = 1;
    handmade_node(&made, 0, HAND_A1, 1);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, HAND_FUNCTIONS, "A1|1|1");
    ASSERT_HANDMADE(&made, "SELECT module_id FROM module_cost", "4294967294");
    handmade_close(&made);
}

static void test_no_recording_at_all(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(handmade_derive(&made, false, &error), SPROF_ENOTFOUND);
    CU_ASSERT_STRING_NOT_EQUAL(error.message, "");
    handmade_close(&made);
}

void sprof_suite_recording_derive(void);
void sprof_suite_recording_derive(void)
{
    CU_pSuite suite = CU_add_suite("recording/derive", handmade_compile, handmade_remove);
    CU_add_test(suite, "the worked example", test_the_worked_example);
    CU_add_test(suite, "start-up code is marked", test_start_up_code_is_marked);
    CU_add_test(suite, "weight without samples", test_weight_without_samples);
    CU_add_test(suite, "many addresses beside others", test_many_addresses_beside_others);
    CU_add_test(suite, "events have costs of their own", test_events_have_costs_of_their_own);
    CU_add_test(suite, "inlined functions are levels", test_inlined_functions_are_levels);
    CU_add_test(suite, "lines count once", test_lines_count_once);
    CU_add_test(suite, "costs by node and time", test_costs_by_node_and_time);
    CU_add_test(suite, "slots are as long as they must be", test_slots_are_as_long_as_they_must_be);
    CU_add_test(suite, "deriving twice changes nothing", test_deriving_twice_changes_nothing);
    CU_add_test(suite, "what stays unnamed changes no sums",
                test_what_stays_unnamed_changes_no_sums);
    CU_add_test(suite, "a complete one is left alone", test_a_complete_one_is_left_alone);
    CU_add_test(suite, "a killed one is finished", test_a_killed_one_is_finished);
    CU_add_test(suite, "an import keeps its names", test_an_import_keeps_its_names);
    CU_add_test(suite, "application part", test_application_part);
    CU_add_test(suite, "application part without interior", test_application_part_without_interior);
    CU_add_test(suite, "application frame", test_application_frame);
    CU_add_test(suite, "program counter", test_program_counter);
    CU_add_test(suite, "equal content is one module", test_equal_content_is_one_module);
    CU_add_test(suite, "a replaced file names nothing", test_a_replaced_file_names_nothing);
    CU_add_test(suite, "a file that comes back", test_a_file_that_comes_back);
    CU_add_test(suite, "rules change kinds", test_rules_change_kinds);
    CU_add_test(suite, "a node without frame", test_a_node_without_frame);
    CU_add_test(suite, "a node without parent", test_a_node_without_parent);
    CU_add_test(suite, "a frame without module", test_a_frame_without_module);
    CU_add_test(suite, "no place outside the application", test_no_place_outside_the_application);
    CU_add_test(suite, "huge ids", test_huge_ids);
    CU_add_test(suite, "no recording at all", test_no_recording_at_all);
}
