/* Merging gives what recording with --append would have given. */
#include "store/merge.h"

#include "recording/recording.h"
#include "tests/unit/recording/handmade.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What people see; rows in an order that no id decides. */
static const char *const questions[] = {
    "SELECT run_id, event, function, module, kind, exclusive_samples, inclusive_samples,"
    " exclusive_weight, inclusive_weight, file, line, named FROM v_function ORDER BY 1, 2, 3, 4",
    "SELECT run_id, event, module, kind, exclusive_samples, inclusive_samples, path FROM v_module"
    " ORDER BY 1, 2, 3, 7",
    "SELECT run_id, event, depth, path, module, exclusive_samples, inclusive_samples,"
    " inclusive_weight FROM v_call_tree ORDER BY 1, 2, 4",
    "SELECT * FROM v_edge ORDER BY 1, 2, 3, 5",
    "SELECT * FROM v_line ORDER BY 1, 2, 3, 4, 5",
    "SELECT * FROM v_thread ORDER BY 1, 2, 3, 4",
    "SELECT run_id, time_ns, weight, address, end_reason, depth, leaf, path, module, sample_id"
    " FROM v_sample ORDER BY sample_id",
    "SELECT * FROM v_quality",
    "SELECT * FROM v_run",
    "SELECT run_id, mode, start_ns FROM v_phase",
    "SELECT count(*) FROM function",
    "SELECT count(*) FROM call_path",
    "SELECT run_id, samples, has_node_costs, slot_ns FROM event_cost",
    "SELECT run_id, slot, sum(samples) FROM slot_cost GROUP BY 1, 2",
    "SELECT run_id, phase, cpu, samples, weight FROM place_cost ORDER BY 1, 2, 3",
    "SELECT run_id, first_sample, last_sample FROM sample_summary",
};
enum { QUESTIONS = sizeof questions / sizeof *questions };

struct scene {
    struct handmade made; /* both runs in one recording */
    char first[160], second[160], all[160];
};

static void copy_file(const struct scene *scene, const char *to)
{
    char command[512];
    snprintf(command, sizeof command, "cp %s %s", scene->made.path, to);
    fixture_run(&scene->made.fixture, command);
}

static void derive(const char *path)
{
    const struct recording_derive_options options = {0};
    CU_ASSERT_EQUAL(recording_derive(path, &options, NULL), 0);
}

/* Two runs of the worked example, alone and appended; the second holds a further stack. */
static void scene_open(struct scene *scene)
{
    struct handmade *made = &scene->made;
    handmade_open(made);
    snprintf(scene->first, sizeof scene->first, "%s/first.db", made->fixture.directory);
    snprintf(scene->second, sizeof scene->second, "%s/second.db", made->fixture.directory);
    snprintf(scene->all, sizeof scene->all, "%s/all.db", made->fixture.directory);
    made->run.state = STORE_RECORDED;
    handmade_example(made, 0);
    handmade_node(made, handmade_node(made, 0, HAND_START, 0), HAND_A2, 40);
    handmade_write(made);
    derive(made->path);
    copy_file(scene, scene->first);
    handmade_node(made, 1, HAND_START, 2);
    handmade_append(made);
    derive(made->path);
    /* The second run alone: the rows as they are now, whose ids do not begin at 1. */
    char kept[160];
    strcpy(kept, made->path);
    strcpy(made->path, scene->second);
    handmade_write(made);
    derive(made->path);
    strcpy(made->path, kept);
}

static void scene_close(struct scene *scene)
{
    handmade_close(&scene->made);
}

static int merge(const char *output, const char *const *inputs, size_t count, bool skip_damaged,
                 struct store_merge_result *result, struct sprof_error *error)
{
    const struct store_merge_options options = {
        .output = output, .inputs = inputs, .count = count, .skip_damaged = skip_damaged};
    return store_merge(&options, result, error);
}

static char *ask(const char *path, const char *question)
{
    struct store *store;
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, path, NULL), 0);
    char *text = strdup(query_text(store, question));
    store_close(store, NULL);
    return text;
}

static void expect_the_same(const char *path, const char *other)
{
    for (int i = 0; i < QUESTIONS; i++) {
        char *actual = ask(path, questions[i]), *expected = ask(other, questions[i]);
        CU_ASSERT_TRUE(strlen(expected) > 0);
        assert_text(actual, expected);
        free(actual);
        free(expected);
    }
}

static void test_as_if_appended(void)
{
    struct scene scene;
    struct store_merge_result result;
    scene_open(&scene);
    const char *const inputs[] = {scene.first, scene.second};
    CU_ASSERT_EQUAL(merge(scene.all, inputs, 2, false, &result, NULL), 0);
    CU_ASSERT_TRUE(result.runs == 2 && result.recordings == 2 && !result.repeated);
    expect_the_same(scene.all, scene.made.path);
    char *check = ask(scene.all, "PRAGMA foreign_key_check; PRAGMA integrity_check");
    CU_ASSERT_STRING_EQUAL(check, "ok");
    free(check);
    /* What has equal content is there once; of "[none]", which no sample came to, nothing is known.
     */
    char *shared =
        ask(scene.all, "SELECT (SELECT count(*) FROM frame WHERE inline_depth = 0),"
                       " (SELECT count(*) FROM stack_node), (SELECT count(*) FROM module)");
    assert_text(shared, "8|11|4");
    free(shared);
    scene_close(&scene);
}

static void test_runs_are_counted_once(void)
{
    struct scene scene;
    struct store_merge_result result;
    scene_open(&scene);
    const char *const twice[] = {scene.first, scene.first, scene.second, scene.first};
    CU_ASSERT_EQUAL(merge(scene.all, twice, 4, false, &result, NULL), 0);
    CU_ASSERT_TRUE(result.runs == 2 && result.repeated == 2);
    expect_the_same(scene.all, scene.made.path);
    /* Its own output, with one that is in it. */
    char again[200];
    snprintf(again, sizeof again, "%s/again.db", scene.made.fixture.directory);
    const char *const own[] = {scene.all, scene.second};
    CU_ASSERT_EQUAL(merge(again, own, 2, false, &result, NULL), 0);
    CU_ASSERT_TRUE(result.runs == 2 && result.repeated == 1);
    expect_the_same(again, scene.made.path);
    /* Only a part of a recording is new. */
    const char *const part[] = {scene.first, scene.all};
    CU_ASSERT_EQUAL(merge(again, part, 2, false, &result, NULL), 0);
    CU_ASSERT_TRUE(result.runs == 2 && result.repeated == 1);
    for (int i = 0; i < 6; i++) {
        char *actual = ask(again, questions[i]), *expected = ask(scene.all, questions[i]);
        assert_text(actual, expected);
        free(actual);
        free(expected);
    }
    scene_close(&scene);
}

static void test_outputs_that_are_refused(void)
{
    struct scene scene;
    struct store_merge_result result;
    struct sprof_error error = {0};
    char link_path[200];
    scene_open(&scene);
    const char *const inputs[] = {scene.first, scene.second};
    CU_ASSERT_EQUAL(merge(scene.second, inputs, 2, false, &result, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "one of the recordings to be merged"));
    snprintf(link_path, sizeof link_path, "%s/link.db", scene.made.fixture.directory);
    CU_ASSERT_EQUAL(symlink(scene.all, link_path), 0);
    CU_ASSERT_EQUAL(merge(link_path, inputs, 2, false, &result, &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "symbolic link"));
    CU_ASSERT_FALSE(file_exists(scene.all));
    scene_close(&scene);
}

static void test_an_output_that_exists_becomes_old(void)
{
    struct scene scene;
    struct store_merge_result result;
    char old[200];
    scene_open(&scene);
    const char *const inputs[] = {scene.first, scene.second};
    snprintf(old, sizeof old, "%s.old.1", scene.all);
    CU_ASSERT_EQUAL(merge(scene.all, inputs, 1, false, &result, NULL), 0);
    CU_ASSERT_EQUAL(merge(scene.all, inputs, 2, false, &result, NULL), 0);
    char *now = ask(scene.all, "SELECT count(*) FROM run"),
         *before = ask(old, "SELECT count(*) FROM run");
    CU_ASSERT_STRING_EQUAL(now, "2");
    CU_ASSERT_STRING_EQUAL(before, "1");
    free(now);
    free(before);
    scene_close(&scene);
}

static void cut(const char *path, off_t size)
{
    CU_ASSERT_EQUAL(truncate(path, size), 0);
}

static void test_damaged_inputs(void)
{
    struct scene scene;
    struct store_merge_result result;
    struct sprof_error error = {0};
    char broken[200], holes[200], newer[200];
    scene_open(&scene);
    snprintf(broken, sizeof broken, "%s/broken.db", scene.made.fixture.directory);
    snprintf(holes, sizeof holes, "%s/holes.db", scene.made.fixture.directory);
    snprintf(newer, sizeof newer, "%s/newer.db", scene.made.fixture.directory);
    copy_file(&scene, broken);
    cut(broken, 3 * 4096);
    copy_file(&scene, holes);
    copy_file(&scene, newer);
    sqlite3 *database;
    CU_ASSERT_EQUAL(sqlite3_open(holes, &database), SQLITE_OK);
    sqlite3_exec(database, "UPDATE run SET key = key + 9; DELETE FROM stack_node WHERE id = 102",
                 NULL, NULL, NULL);
    sqlite3_close(database);
    CU_ASSERT_EQUAL(sqlite3_open(newer, &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA user_version = 99", NULL, NULL, NULL);
    sqlite3_close(database);
    const char *const bad[] = {broken, holes, newer, "/nowhere/at/all.db"};
    for (size_t i = 0; i < 4; i++) {
        const char *const inputs[] = {scene.first, bad[i], scene.second};
        CU_ASSERT_TRUE(merge(scene.all, inputs, 3, false, &result, &error) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, bad[i]));
        CU_ASSERT_FALSE(file_exists(scene.all));
    }
    const char *const inputs[] = {broken, scene.first, holes, newer, bad[3], scene.second};
    CU_ASSERT_EQUAL(merge(scene.all, inputs, 6, true, &result, &error), 0);
    CU_ASSERT_TRUE(result.runs == 2 && result.recordings == 2 && result.skipped == 4);
    expect_the_same(scene.all, scene.made.path);
    const char *const nothing[] = {broken};
    char other[200];
    snprintf(other, sizeof other, "%s/other.db", scene.made.fixture.directory);
    CU_ASSERT_EQUAL(merge(other, nothing, 1, true, &result, &error), SPROF_EFORMAT);
    CU_ASSERT_FALSE(file_exists(other));
    scene_close(&scene);
}

/* Runs that have no names yet are finished in the merged recording as they would have been alone.
 */
static void test_unfinished_runs_are_finished_later(void)
{
    struct scene scene;
    struct store_merge_result result;
    char young[200];
    scene_open(&scene);
    snprintf(young, sizeof young, "%s/young.db", scene.made.fixture.directory);
    char kept[160];
    strcpy(kept, scene.made.path);
    strcpy(scene.made.path, young);
    handmade_write(&scene.made);
    strcpy(scene.made.path, kept);
    const char *const inputs[] = {scene.first, young};
    CU_ASSERT_EQUAL(merge(scene.all, inputs, 2, false, &result, NULL), 0);
    char *states = ask(scene.all, "SELECT state FROM v_run");
    CU_ASSERT_STRING_EQUAL(states, "complete recorded");
    free(states);
    derive(scene.all);
    expect_the_same(scene.all, scene.made.path);
    scene_close(&scene);
}

void sprof_suite_recording_merge(void);
void sprof_suite_recording_merge(void)
{
    CU_pSuite suite = CU_add_suite("recording/merge", handmade_compile, handmade_remove);
    CU_add_test(suite, "as if appended", test_as_if_appended);
    CU_add_test(suite, "runs are counted once", test_runs_are_counted_once);
    CU_add_test(suite, "outputs that are refused", test_outputs_that_are_refused);
    CU_add_test(suite, "an output that exists becomes old", test_an_output_that_exists_becomes_old);
    CU_add_test(suite, "damaged inputs", test_damaged_inputs);
    CU_add_test(suite, "unfinished runs are finished later",
                test_unfinished_runs_are_finished_later);
}
