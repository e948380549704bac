/* Recordings whose rows contradict each other: every report ends with an answer or an error, never
 * with a crash or without end. */
#include "tests/unit/report/recorded.h"

#include <sqlite3.h>

static const char *const damages[] = {
    "DELETE FROM function WHERE id = 5",
    "DELETE FROM function",
    "DELETE FROM module",
    "DELETE FROM module WHERE id = 2",
    "DELETE FROM call_path WHERE id = 2",
    "DELETE FROM call_path",
    "DELETE FROM frame WHERE id = 3",
    "DELETE FROM frame",
    "DELETE FROM stack_node WHERE id = 2",
    "DELETE FROM stack_node",
    "DELETE FROM thread",
    "DELETE FROM process",
    "DELETE FROM event",
    "DELETE FROM sample",
    "DELETE FROM run",
    "DELETE FROM mapping",
    "DELETE FROM node_path",
    "UPDATE node_path SET path_id = 77",
    "UPDATE stack_node SET frame_id = 4000000000 WHERE id = 2",
    "UPDATE call_path SET function_id = 99",
    "UPDATE call_path SET function_id = 1",
    "UPDATE call_path SET parent_id = NULL",
    "UPDATE frame SET inline_parent_id = 7, inline_depth = 0 WHERE id = 5",
    "UPDATE frame SET inline_parent_id = 5 WHERE id = 7",
    "UPDATE frame SET function_id = 99",
    "UPDATE function SET id = id + 4000000000",
    "UPDATE function SET name = ''",
    "UPDATE function SET name = x'ff1b5b33316d00414141'",
    "UPDATE function SET module_id = 4",
    "UPDATE sample SET event_id = 9",
    "UPDATE sample SET weight = 9223372036854775807",
    "UPDATE sample SET thread_id = 99",
    "UPDATE sample SET node_id = 99",
    "UPDATE process SET parent_id = id",
    "UPDATE mapping SET \"end\" = start - 1, file_offset = -1",
    "UPDATE run SET mode = 2, frame = 0",
    "UPDATE run SET duration_ns = 9223372036854775807, target_cpu_ns = 0",
    "UPDATE event SET varying = 1, period = NULL",
};

/* Changes the database behind the store's back. Some damage the schema itself refuses. */
static void harm(const struct place *place, const char *damage)
{
    sqlite3 *database;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(place->path, &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
    sqlite3_exec(database, damage, NULL, NULL, NULL);
    sqlite3_close(database);
}

static bool is_answer(int result, const struct sprof_error *error)
{
    if (!result)
        return true;
    return result < 0 && error->message[0];
}

/* Every view in every format, and in every mode: these take turns, in another order for each
 * damage. */
static void ask_everything(struct store *store, size_t damage)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    size_t turn = damage;
    for (int view = REPORT_BY_KEYS; view < REPORT_VIEWS; view++, turn++)
        for (const struct report_format *format = report_formats(); format->name; format++) {
            if (!(format->kinds & REPORT_TABLE))
                continue;
            const int mode = (int)(turn++ % (MODEL_MODE_APP + 2)) - 1;
            const bool about_one = view == REPORT_CALLERS || view == REPORT_CALLEES;
            const struct report_request request = {
                .selection = {.other_mode = mode >= 0,
                              .mode = mode < 0 ? MODEL_MODE_FULL : (enum model_mode)mode},
                .table = {.view = (enum report_view)view, .function = about_one ? "A2" : NULL},
                .style = {.format = format},
            };
            error = (struct sprof_error){0};
            CU_ASSERT_TRUE(is_answer(report_write(captured->out, store, &request, &error), &error));
        }
    for (const struct report_format *format = report_formats(); format->name; format++) {
        const struct report_style style = {.format = format};
        if (!(format->kinds & REPORT_SAMPLES))
            continue;
        error = (struct sprof_error){0};
        CU_ASSERT_TRUE(is_answer(
            report_script(captured->out, store, &(struct report_selection){0}, &style, 0, &error),
            &error));
    }
    error = (struct sprof_error){0};
    CU_ASSERT_TRUE(is_answer(
        report_summary(captured->out, store,
                       &(struct report_summary_options){.path = "sprof.db", .note = ""}, &error),
        &error));
    capture_free(captured);
}

static void test_every_report_of_every_damage(void)
{
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct place place = place_make();
        struct store *store = NULL;
        example_make(&place);
        harm(&place, damages[i]);
        if (!store_open_read(&store, place.path, NULL)) {
            ask_everything(store, i);
            store_close(store, NULL);
        }
        place_remove(&place);
    }
}

static void test_a_missing_row_is_called_damage(void)
{
    const struct place place = place_make();
    struct captured *captured = capture();
    struct sprof_error error = {0};
    struct store *store;
    example_make(&place);
    harm(&place, "DELETE FROM call_path WHERE id = 2");
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(report_write(captured->out, store, &(struct report_request){0}, &error),
                    SPROF_EFORMAT);
    assert_text(error.message, "the recording is damaged: rows refer to rows that are missing");
    store_close(store, NULL);
    capture_free(captured);
    place_remove(&place);
}

/* What a summary, or the usual report, says; to be freed. */
static char *answer(const struct place *place, bool summary)
{
    struct captured *captured = capture();
    struct store *store;
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place->path, NULL), 0);
    CU_ASSERT_EQUAL(
        summary
            ? report_summary(captured->out, store,
                             &(struct report_summary_options){.path = "sprof.db", .note = ""}, NULL)
            : report_write(captured->out, store, &(struct report_request){0}, NULL),
        0);
    char *text = strdup(captured_text(captured));
    store_close(store, NULL);
    capture_free(captured);
    return text;
}

/* Rows that only other runs need are not read where they are many: these could not be. */
static void test_rows_of_other_runs_are_not_read(void)
{
    static const char *const harms[] = {
        "WITH RECURSIVE n (id) AS (SELECT 101 UNION ALL SELECT id + 1 FROM n WHERE id < 300)"
        " INSERT INTO call_path (id, function_id, depth) SELECT id, 0, 1 FROM n",
        "INSERT INTO function (id, module_id, name, start, size, named, startup)"
        " VALUES (99, 99, 'lost', 0, 0, 1, 0)"};
    const struct place place = place_make();
    example_make(&place);
    char *report = answer(&place, false), *summary = answer(&place, true);
    for (int i = 0; i < 2; i++) {
        harm(&place, harms[i]);
        char *harmed = answer(&place, i);
        assert_text(harmed, i ? summary : report);
        free(harmed);
    }
    free(report);
    free(summary);
    place_remove(&place);
}

void sprof_suite_report_damage(void);
void sprof_suite_report_damage(void)
{
    CU_pSuite suite = CU_add_suite("report/damage", NULL, NULL);
    CU_add_test(suite, "every report of every damage", test_every_report_of_every_damage);
    CU_add_test(suite, "a missing row is called damage", test_a_missing_row_is_called_damage);
    CU_add_test(suite, "rows of other runs are not read", test_rows_of_other_runs_are_not_read);
}
