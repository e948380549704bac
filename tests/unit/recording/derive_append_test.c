/* Deriving a run that was appended: what was derived before stays. */
#include "recording/recording.h"
#include "tests/unit/recording/handmade.h"

#define FUNCTIONS_OF(run)                                                                          \
    "SELECT function, exclusive_samples, inclusive_samples FROM v_function WHERE run_id = " run    \
    " ORDER BY function"

#define LINES_OF(run)                                                                              \
    "SELECT function, line, exclusive_samples, inclusive_samples FROM v_line WHERE run_id = " run  \
    " ORDER BY function, line"

static void replace_program(const struct handmade *made, const char *source)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -f p.c && printf '%s' > p.c && %s", source,
             "cc -g -O1 -Wl,--build-id=none p.c -o new && cat new > moved");
    fixture_run(&made->fixture, command);
}

/* The example is complete, and stands there a second time, not derived yet. */
static void make_two_runs(struct handmade *made)
{
    handmade_make(made, "full", STORE_RECORDED);
    handmade_example(made, 0);
    handmade_write(made);
    handmade_must_derive(made);
    handmade_append(made);
}

/* A run that is derived, of a copy of the program which a test may replace. */
static void make_moved(struct handmade *made)
{
    handmade_make(made, "full", STORE_RECORDED);
    handmade_copy_program(made, "moved");
    strcpy(made->program, fixture_path(&made->fixture, "moved"));
    handmade_example(made, 0);
    handmade_write(made);
    handmade_must_derive(made);
}

/* The program is rebuilt in place, on the same inode and without a build id: what was named before
 * stays, and both programs are modules of their own. */
static void test_names_outlive_a_rebuild(void)
{
    struct handmade made;
    make_moved(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    char *tree = strdup(handmade_query(&made, HAND_PATHS));
    replace_program(&made, "volatile int x; int main(void) { for (;;) x += 3; }");
    handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made,
                    "SELECT replace(path, 'libgone.so', 'S'), exclusive_samples, inclusive_samples"
                    " FROM v_call_tree WHERE run_id = 1 ORDER BY path",
                    tree);
    ASSERT_HANDMADE(&made, "SELECT count(DISTINCT key) FROM module WHERE name = 'program'", "2");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM v_function WHERE run_id = 2 AND function = 'A1'",
                    "0");
    free(tree);
    handmade_close(&made);
}

/* The same program once more is the same module, and its functions are the same rows. */
static void test_an_unchanged_program_is_one_module(void)
{
    struct handmade made;
    make_two_runs(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function", "4");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM call_path", "8");
    ASSERT_HANDMADE(&made,
                    "SELECT count(*) FROM (SELECT path_id, count(*) AS n FROM path_cost"
                    " GROUP BY path_id) WHERE n <> 2",
                    "0");
    handmade_close(&made);
}

/* Even when everything is looked up again, a name is not exchanged for none. */
static void test_names_outlive_their_file(void)
{
    struct handmade made;
    make_moved(&made);
    handmade_append(&made);
    replace_program(&made, "int main(void) { return 0; }");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    fixture_run(&made.fixture, "rm moved");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT state FROM v_run", "complete complete");
    handmade_close(&made);
}

/* What is complete is not read again: whatever became of it. */
static void test_a_complete_run_is_not_read(void)
{
    struct handmade made;
    make_two_runs(&made);
    handmade_execute(&made, "UPDATE sample SET node_id = 4711 WHERE run_id = 1");
    handmade_execute(&made, "UPDATE stack_node SET frame_id = 4711 WHERE id < 100");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM call_path", "8");
    handmade_close(&made);
}

/* As in a merged file: the second run's stacks stand on a node of the first. */
static void test_runs_with_a_node_in_common(void)
{
    struct handmade made;
    make_two_runs(&made);
    handmade_execute(&made, "UPDATE stack_node SET parent_distance = parent_distance + 100"
                            " WHERE parent_id = (SELECT min(id) FROM stack_node WHERE id > 100)");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT samples, frames, named_frames FROM v_quality",
                    "6|19|13 6|19|13");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    char *lines = strdup(handmade_query(&made, LINES_OF("1")));
    ASSERT_HANDMADE(&made, LINES_OF("2"), lines);
    free(lines);
    handmade_close(&made);
}

/* The program was away when the second run was derived, and is back: what it gave the first run's
 * functions is not added up again, and nothing is left of the second's without names. Where a stack
 * stands on a node of the first run, as in merged files, that has no part in it either. */
static void find_names_later(bool common_node)
{
    static const struct recording_derive_options unnamed = {.unnamed = true};
    struct handmade made;
    make_moved(&made);
    fixture_run(&made.fixture, "mv moved away");
    handmade_append(&made);
    if (common_node)
        handmade_execute(&made, "UPDATE stack_node SET parent_distance = parent_distance + 100"
                                " WHERE parent_id = (SELECT min(id) FROM stack_node"
                                " WHERE id > 100)");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*) > 8 FROM call_path", "1");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function WHERE NOT named", "2");
    handmade_execute(&made, "UPDATE path_cost SET exclusive_weight = 77 WHERE run_id = 1");
    fixture_run(&made.fixture, "mv away moved");
    CU_ASSERT_EQUAL(recording_derive(made.path, &unnamed, NULL), 0);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT DISTINCT exclusive_weight FROM path_cost WHERE run_id = 1",
                    "77");
    ASSERT_HANDMADE(
        &made, "SELECT count(*) FROM path_cost WHERE run_id = 2 AND exclusive_weight = 77", "0");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM call_path", "8");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM function", "4");
    ASSERT_HANDMADE(&made,
                    "SELECT count(*) FROM (SELECT path_id, count(*) AS n FROM path_cost"
                    " GROUP BY path_id) WHERE n <> 2",
                    "0");
    char *lines = strdup(handmade_query(&made, LINES_OF("1")));
    ASSERT_HANDMADE(&made, LINES_OF("2"), lines);
    free(lines);
    ASSERT_HANDMADE(&made, "SELECT state FROM v_run", "complete complete");
    handmade_close(&made);
}

static void test_a_run_without_new_names_keeps_its_sums(void)
{
    find_names_later(false);
    find_names_later(true);
}

/* The rows of new paths come behind those that are stored. */
static void test_a_further_run_with_more_paths(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    handmade_write(&made);
    handmade_must_derive(&made);
    handmade_node(&made, handmade_node(&made, 0, HAND_A3, 0), HAND_A1, 4);
    handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT path_id, path FROM v_call_tree WHERE run_id = 2 AND path_id > 8"
                    " ORDER BY path_id",
                    "9|A3 10|A3;A1");
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|5|10 A2|2|5 A3|0|6 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT count(*) FROM v_sample WHERE path = 'A3;A1'", "4");
    handmade_close(&made);
}

/* In a file of several runs with many paths those of a short run are looked up: the others are not
 * read, whatever became of them, and of its own only the one that is missing is added. */
static void test_a_short_run_looks_its_paths_up(void)
{
    enum { MANY = 60 };
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    handmade_example(&made, 0);
    const size_t nodes = made.batch.nodes.count, samples = made.batch.samples.count;
    uint32_t node = 0;
    for (int i = 0; i < MANY; i++)
        node = handmade_node(&made, node, i % 2 ? HAND_A1 : HAND_A3, 1);
    handmade_write(&made);
    made.batch.nodes.count = nodes;
    made.batch.samples.count = samples;
    for (int run = 2; run < 5; run++)
        handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT count(*), max(id) FROM call_path", "68|68");
    handmade_execute(&made, "UPDATE call_path SET function_id = 0 WHERE id > 8;"
                            " DELETE FROM call_path WHERE id = 8");
    handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT path_id FROM path_cost WHERE run_id = 5", "1 2 3 4 5 6 7 69");
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("5"), "A1|1|6 A2|2|5 A3|0|2 libgone.so|3|3");
    ASSERT_HANDMADE(&made, "SELECT count(*), max(id) FROM call_path", "68|69");
    handmade_close(&made);
}

/* == What a further run has nothing to do with is not read, whatever became of it == */

/* The example is derived; a further run has samples of A3 below some function. */
static void make_further_run(struct handmade *made, uint32_t root)
{
    handmade_make(made, "full", STORE_RECORDED);
    handmade_example(made, 0);
    handmade_write(made);
    handmade_must_derive(made);
    made->batch.nodes.count = made->batch.samples.count = 0;
    handmade_node(made, handmade_node(made, 0, root, 0), HAND_A3, 4);
    handmade_append(made);
}

static void test_functions_of_other_modules_are_not_read(void)
{
    struct handmade made;
    make_further_run(&made, HAND_A1);
    handmade_execute(&made, "UPDATE function SET line = -1 WHERE name = 'libgone.so'");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|0|4 A3|4|4");
    ASSERT_HANDMADE(&made, "SELECT count(*), max(id) FROM function", "4|4");
    handmade_close(&made);
}

static void test_paths_of_other_functions_are_not_read(void)
{
    struct handmade made;
    make_further_run(&made, HAND_A1);
    handmade_execute(&made, "UPDATE call_path SET depth = 0 WHERE function_id NOT IN"
                            " (SELECT id FROM function WHERE name IN ('A1', 'A3'))");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|0|4 A3|4|4");
    ASSERT_HANDMADE(&made, "SELECT count(*), max(id) FROM call_path", "8|8");
    ASSERT_HANDMADE(&made,
                    "SELECT group_concat(f.name) FROM path_cost c JOIN call_path p"
                    " ON p.id = c.path_id JOIN function f ON f.id = p.function_id"
                    " WHERE c.run_id = 2 AND p.id IN"
                    " (SELECT path_id FROM path_cost WHERE run_id = 1)",
                    "A1,A3");
    handmade_close(&made);
}

/* No path below a function that is new is stored. */
static void test_no_paths_are_read_below_a_new_function(void)
{
    struct handmade made;
    make_further_run(&made, HAND_START);
    handmade_execute(&made, "UPDATE call_path SET depth = 0");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A3|4|4 _start|0|4");
    ASSERT_HANDMADE(&made, "SELECT path_id FROM path_cost WHERE run_id = 2", "9 10");
    handmade_close(&made);
}

/* As in a merged file: the run's stacks have frames of an earlier one, which have their names. */
static void test_a_further_run_of_named_frames(void)
{
    struct handmade made;
    struct sprof_error error = {0};
    make_further_run(&made, HAND_A1);
    handmade_execute(&made, "UPDATE stack_node SET frame_id = frame_id - 100 WHERE id > 100");
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("2"), "A1|0|4 A3|4|4");
    handmade_append(&made);
    handmade_execute(&made, "UPDATE stack_node SET frame_id = frame_id - 200 WHERE id > 200;"
                            " DELETE FROM function WHERE name = 'A3'");
    CU_ASSERT_EQUAL(handmade_derive(&made, false, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "refers to rows that are missing"));
    handmade_close(&made);
}

/* == The kernel of another boot == */

static void add_kernel(struct handmade *made)
{
    const struct store_module kernel = {
        .id = HAND_KERNEL, .path = "[kernel]", .name = "[kernel]", .kind = MODEL_KIND_KERNEL};
    const struct store_mapping mapping = {
        .id = 1, .module_id = HAND_KERNEL, .start = 0xffffffff81000000, .end = 0xffffffff82000000};
    const struct store_frame frame = {.id = 30, .module_id = HAND_KERNEL, .file_offset = 0x1234};
    CU_ASSERT_EQUAL(sprof_vec_push(&made->batch.modules, kernel), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&made->batch.mappings, mapping), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&made->batch.frames, frame), 0);
    handmade_node(made, 0, frame.id, 1);
}

static void test_another_boot_names_no_kernel_function(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    add_kernel(&made);
    handmade_write(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, "SELECT named FROM function WHERE module_id = 4", "0");
    ASSERT_HANDMADE(&made, "SELECT problem FROM module WHERE path = '[kernel]'",
                    "recorded before the last boot: kernel addresses have no names");
    handmade_close(&made);
}

/* The first run's kernel was named while that boot lasted. The second run is of this boot, whatever
 * the first one was. */
static void test_kernel_names_outlive_their_boot(void)
{
    struct handmade made;
    handmade_make(&made, "full", STORE_RECORDED);
    add_kernel(&made);
    handmade_write(&made);
    handmade_must_derive(&made);
    handmade_execute(&made, "UPDATE function SET name = 'sys_read', linkage_name = 'sys_read',"
                            " named = 1 WHERE module_id = 4");
    handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "sys_read|1|1");
    CU_ASSERT_EQUAL(handmade_derive(&made, true, NULL), 0);
    ASSERT_HANDMADE(&made, FUNCTIONS_OF("1"), "sys_read|1|1");
    handmade_close(&made);
}

/* Another run's boot is its own: this one's kernel is looked up. */
static void test_boots_are_told_apart_by_run(void)
{
    struct handmade made;
    char boot_id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_PTR_NOT_NULL(fgets(boot_id, sizeof boot_id, file));
    fclose(file);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    handmade_make(&made, "full", STORE_RECORDED);
    add_kernel(&made);
    handmade_write(&made);
    made.run.boot_id = boot_id;
    handmade_append(&made);
    handmade_must_derive(&made);
    ASSERT_HANDMADE(&made,
                    "SELECT id, problem LIKE 'recorded before the last boot%' FROM module"
                    " WHERE path = '[kernel]' AND problem LIKE '%boot%' ORDER BY id",
                    "4|1");
    handmade_close(&made);
}

void sprof_suite_recording_derive_append(void);
void sprof_suite_recording_derive_append(void)
{
    CU_pSuite suite = CU_add_suite("recording/derive_append", handmade_compile, handmade_remove);
    CU_add_test(suite, "a run without new names keeps its sums",
                test_a_run_without_new_names_keeps_its_sums);
    CU_add_test(suite, "names outlive a rebuild", test_names_outlive_a_rebuild);
    CU_add_test(suite, "an unchanged program is one module",
                test_an_unchanged_program_is_one_module);
    CU_add_test(suite, "names outlive their file", test_names_outlive_their_file);
    CU_add_test(suite, "another boot names no kernel function",
                test_another_boot_names_no_kernel_function);
    CU_add_test(suite, "kernel names outlive their boot", test_kernel_names_outlive_their_boot);
    CU_add_test(suite, "boots are told apart by run", test_boots_are_told_apart_by_run);
    CU_add_test(suite, "a complete run is not read", test_a_complete_run_is_not_read);
    CU_add_test(suite, "runs with a node in common", test_runs_with_a_node_in_common);
    CU_add_test(suite, "a further run with more paths", test_a_further_run_with_more_paths);
    CU_add_test(suite, "a short run looks its paths up", test_a_short_run_looks_its_paths_up);
    CU_add_test(suite, "functions of other modules are not read",
                test_functions_of_other_modules_are_not_read);
    CU_add_test(suite, "paths of other functions are not read",
                test_paths_of_other_functions_are_not_read);
    CU_add_test(suite, "no paths are read below a new function",
                test_no_paths_are_read_below_a_new_function);
    CU_add_test(suite, "a further run of named frames", test_a_further_run_of_named_frames);
}
