/* Recordings in other states and modes than the example's. */
#include "tests/unit/report/recorded.h"

/* Writes the example with a changed run row and asks for a report of it. */
static int report_of(const struct store_run *run, enum store_state state,
                     const struct report_selection *selection, struct sprof_error *error)
{
    const struct place place = place_make();
    struct captured *captured = capture();
    const struct report_request request = {.selection = *selection};
    struct store *store;
    *error = (struct sprof_error){0};
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(example_write_raw(store, run), 0);
    CU_ASSERT_EQUAL(example_write_derived(store), 0);
    CU_ASSERT_EQUAL(store_set_state(store, 1, state, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_open_read(&store, place.path, NULL), 0);
    const int result = report_write(captured->out, store, &request, error);
    store_close(store, NULL);
    capture_free(captured);
    place_remove(&place);
    return result;
}

static void test_an_unfinished_run_is_refused(void)
{
    const struct store_run run = example_run();
    const struct report_selection selection = {0};
    struct sprof_error error;
    CU_ASSERT_EQUAL(report_of(&run, STORE_RECORDED, &selection, &error), SPROF_ESTATE);
    assert_text(error.message, "run 1 is not finished: finish it with `sprof symbolize`");
}

static void test_what_was_cut_cannot_be_read(void)
{
    static const struct {
        const char *mode, *frame;
        struct report_selection selection;
        int result;
    } cases[] = {
        {"pc", NULL, {.other_mode = true, .mode = MODEL_MODE_FULL}, SPROF_EUSAGE},
        {"pc", NULL, {.other_mode = true, .mode = MODEL_MODE_APP}, SPROF_EUSAGE},
        {"pc", NULL, {.other_mode = true, .mode = MODEL_MODE_PC}, 0},
        {"pc", NULL, {.other_mode = true, .mode = MODEL_MODE_PC, .frame_app = true}, SPROF_EUSAGE},
        {"pc", "app", {.other_mode = true, .mode = MODEL_MODE_PC, .frame_app = true}, 0},
        {"app", NULL, {.other_mode = true, .mode = MODEL_MODE_FULL}, SPROF_EUSAGE},
        {"app", NULL, {.other_mode = true, .mode = MODEL_MODE_PC}, SPROF_EUSAGE},
        {"app", NULL, {.other_mode = true, .mode = MODEL_MODE_PC, .frame_app = true}, 0},
        {"app", NULL, {.other_mode = true, .mode = MODEL_MODE_APP}, 0},
        {"full", NULL, {.other_mode = true, .mode = MODEL_MODE_PC}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_run run = example_run();
        struct sprof_error error;
        run.mode = cases[i].mode;
        run.frame = cases[i].frame;
        CU_ASSERT_EQUAL(report_of(&run, STORE_COMPLETE, &cases[i].selection, &error),
                        cases[i].result);
    }
}

static void test_the_message_names_the_cure(void)
{
    struct store_run run = example_run();
    struct sprof_error error;
    const struct report_selection selection = {.other_mode = true, .mode = MODEL_MODE_FULL};
    run.mode = "app";
    report_of(&run, STORE_COMPLETE, &selection, &error);
    assert_text(error.message, "recorded as mode app, which cannot be read as full: record with "
                               "`-m full` to read it in every mode");
}

void sprof_suite_report_mode(void);
void sprof_suite_report_mode(void)
{
    CU_pSuite suite = CU_add_suite("report/mode", NULL, NULL);
    CU_add_test(suite, "an unfinished run is refused", test_an_unfinished_run_is_refused);
    CU_add_test(suite, "what was cut cannot be read", test_what_was_cut_cannot_be_read);
    CU_add_test(suite, "the message names the cure", test_the_message_names_the_cure);
}
