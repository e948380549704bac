/* Kept calls: why they were kept, of which request they are, and what is below their table. The
 * example has a kept call 2 of request 7, made by call 1. */
#include "report/kept_tree.h"
#include "tests/unit/report/recorded.h"

#include <sqlite3.h>

static void finish(struct store *store, const struct place *place)
{
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(place);
}

static int note_why(void *context, const struct report_kept_text *call)
{
    if (call->number == 2)
        snprintf(context, 100, "%s", call->why);
    return 0;
}

/* A colon between quotation marks, or of "::", is no end of the conditions. */
static void test_conditions(void)
{
    static const char *const rules[][2] = {
        {"over 10ns: a", "over 10ns"},
        {"over 10ns : ::a::b", "over 10ns"},
        {"throws", "throws"},
        {"::level > 3", "::level > 3"},
        {"throws ^std::out_of_range : ^f", "throws ^std::out_of_range"},
        {"below ^ns::f and changed ::x:^g", "below ^ns::f and changed ::x"},
        {"name = \"a: \\\"b: c\" and class a::B: d", "name = \"a: \\\"b: c\" and class a::B"},
        {"call \"x:y\":\"z:z\"", "call \"x:y\""},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct place place = place_make();
        char why[100] = "";
        char *sql = sqlite3_mprintf("UPDATE keep_rule SET text = %Q", rules[i][0]);
        struct store *store = example_changed(&place, sql);
        CU_ASSERT_EQUAL(report_each_kept(store, &(struct report_selection){0}, note_why, why, NULL),
                        0);
        assert_text(why, rules[i][1]);
        sqlite3_free(sql);
        finish(store, &place);
    }
}

/* A second run, whose calls are of other threads and have the same numbers. */
static const char second_run[] =
    "CREATE TEMP TABLE a AS SELECT * FROM run; UPDATE a SET id = 2, key = 99;"
    "INSERT INTO run SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM event WHERE id = 1; UPDATE a SET id = 90, run_id = 2;"
    "INSERT INTO event SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM process WHERE id = 1; UPDATE a SET id = 90, run_id = 2;"
    "INSERT INTO process SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM thread WHERE id = 1; UPDATE a SET id = 90, process_id = "
    "90; INSERT INTO thread SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM keep_rule; UPDATE a SET run_id = 2;"
    "INSERT INTO keep_rule SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM request_part; UPDATE a SET run_id = 2, thread_id = 90;"
    "INSERT INTO request_part SELECT * FROM a; DROP TABLE temp.a;"
    "CREATE TEMP TABLE a AS SELECT * FROM kept_call; UPDATE a SET run_id = 2, thread_id = 90;"
    "INSERT INTO kept_call SELECT * FROM a; DROP TABLE temp.a;";

static struct captured *kept(struct store *store, const char *format, const char *request)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    const struct report_request asked = {
        .selection = {.all_runs = true},
        .table = {.view = REPORT_KEPT, .request = request, .show = "request"},
        .style = style_of(format)};
    CU_ASSERT_EQUAL(report_write(captured->out, store, &asked, &error), 0);
    assert_text(error.message, "");
    captured_text(captured);
    return captured;
}

/* A request is one of its run: another run may have the same number. */
static void test_request_of_run(void)
{
    const struct place place = place_make();
    struct store *store = example_changed(&place, second_run);
    struct captured *captured = kept(store, "csv", NULL);
    assert_text(captured->text, "request\r\n\r\n7\r\n\r\n7\r\n");
    capture_free(captured);
    captured = kept(store, "csv", "7");
    assert_text(captured->text, "request\r\n\r\n7\r\n");
    capture_free(captured);
    finish(store, &place);
}

/* A text that is a number is chosen as it was written, not by the number it may be read as. */
static void test_labels_that_are_numbers(void)
{
    static const char *const labels[] = {"4711", "0755", "0x1F"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const struct place place = place_make();
        char *sql = sqlite3_mprintf("UPDATE request_part SET label = %Q", labels[i]);
        struct store *store = example_changed(&place, sql);
        struct captured *captured = kept(store, "csv", labels[i]);
        assert_text(captured->text, "request\r\n\r\n7\r\n");
        capture_free(captured);
        captured = kept(store, "csv", "0x7");
        assert_text(captured->text, "request\r\n\r\n7\r\n");
        capture_free(captured);
        sqlite3_free(sql);
        finish(store, &place);
    }
}

/* Of which runs it is not known how long calls waited, whichever is the newest. */
static void test_runs_without_states(void)
{
    static const char *const cases[][2] = {
        {"UPDATE run SET no_call_states = NULL", ""},
        {"UPDATE run SET no_call_states = 'none'",
         "how long they waited is not known, without BPF (none)"},
        {"UPDATE run SET no_call_states = iif(id = 1, 'none', NULL)",
         "how long they waited is not known of 1 of 2 runs, without BPF (none)"},
        {"UPDATE run SET no_call_states = iif(id = 2, 'none', NULL)",
         "how long they waited is not known of 1 of 2 runs, without BPF (none)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct place place = place_make();
        char *sql = sqlite3_mprintf("%s %s", second_run, cases[i][0]);
        struct store *store = example_changed(&place, sql);
        struct captured *captured = kept(store, "text", NULL);
        const char *note = strstr(captured->text, "how long");
        const size_t length = note ? strcspn(note, "\n") : 0;
        CU_ASSERT_EQUAL(length, strlen(cases[i][1]));
        CU_ASSERT_TRUE(!length || !strncmp(note, cases[i][1], length));
        capture_free(captured);
        sqlite3_free(sql);
        finish(store, &place);
    }
}

/* Circles of callers, one of which has a call below it: each is a tree, and so are the others. */
static void test_open_circles(void)
{
    enum { NONE = REPORT_KEPT_NONE };
    struct report_kept_link links[] = {
        {.start_ns = 5, .above = 1}, {.start_ns = 3, .above = 2}, {.start_ns = 4, .above = 0},
        {.start_ns = 9, .above = 2}, {.start_ns = 1, .above = 4}, {.start_ns = 2, .above = NONE},
        {.start_ns = 2, .above = 5},
    };
    static const uint32_t wanted[] = {1, NONE, 0, 2, NONE, NONE, 5};
    const uint32_t count = sizeof links / sizeof *links;
    CU_ASSERT_EQUAL(report_kept_open_circles(links, count), 2);
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(links[i].above, wanted[i]);
    for (uint32_t i = 0; i < count; i++)
        links[i].walk = 0;
    CU_ASSERT_EQUAL(report_kept_open_circles(links, count), 0);
}

/* No call is lost where none is a root. */
static void test_circle_of_callers(void)
{
    const struct place place = place_make();
    struct store *store = example_changed(&place, "UPDATE kept_call SET caller = 3 - number");
    const struct report_request asked = {.table = {.view = REPORT_KEPT, .show = "id,depth"},
                                         .style = style_of("csv")};
    struct captured *captured = capture();
    CU_ASSERT_EQUAL(report_write(captured->out, store, &asked, NULL), 0);
    assert_text(captured_text(captured), "id,depth\r\n1,0\r\n2,1\r\n");
    capture_free(captured);
    captured = kept(store, "text", NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "1 circle of callers"));
    capture_free(captured);
    char why[100] = "";
    CU_ASSERT_EQUAL(report_each_kept(store, &(struct report_selection){0}, note_why, why, NULL), 0);
    CU_ASSERT_STRING_NOT_EQUAL(why, "");
    finish(store, &place);
}

void sprof_suite_report_kept(void);
void sprof_suite_report_kept(void)
{
    CU_pSuite suite = CU_add_suite("report/kept", NULL, NULL);
    CU_add_test(suite, "conditions", test_conditions);
    CU_add_test(suite, "request of a run", test_request_of_run);
    CU_add_test(suite, "labels that are numbers", test_labels_that_are_numbers);
    CU_add_test(suite, "runs without states", test_runs_without_states);
    CU_add_test(suite, "open circles", test_open_circles);
    CU_add_test(suite, "circle of callers", test_circle_of_callers);
}
