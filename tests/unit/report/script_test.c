#include "tests/unit/report/recorded.h"

#include <yajl/yajl_tree.h>

static struct captured *script(struct report_selection selection, const char *format, size_t limit)
{
    struct captured *captured = capture();
    const struct report_style style = style_of(format);
    CU_ASSERT_EQUAL(report_script(captured->out, example.store, &selection, &style, limit, NULL),
                    0);
    captured_text(captured);
    return captured;
}

static void test_text(void)
{
    struct captured *captured = script((struct report_selection){.thread = "worker"}, "text", 0);
    assert_text(captured->text,
                "worker            100/101   [000]     0.000000:    1003009 cpu-clock: truncated\n"
                "\t          400200 A2 (prog) main.c:21 (inlined)\n"
                "\t          400200 A3 (prog) main.c:31\n"
                "\t          400000 A1 (prog) main.c:10\n"
                "\n");
    capture_free(captured);
}

/* The library moved at time 40; the child has its mappings from its parent. */
static void test_addresses_depend_on_time(void)
{
    struct captured *captured = script((struct report_selection){.thread = "prog"}, "text", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "    7f0000000600 S2 (libs.so) sys.c:9\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "    7f1000000600 S2 (libs.so) sys.c:9\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, ": root stitched\n"));
    capture_free(captured);
    captured = script((struct report_selection){.process = "child"}, "text", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "no-stack × 0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "\t               - [not sampled] ([none]+0x0)"));
    capture_free(captured);
}

static void test_limit_and_csv(void)
{
    struct captured *captured = script((struct report_selection){0}, "csv", 2);
    assert_text(captured->text,
                "time_ns,pid,tid,cpu,process,thread,event,weight,count,end_reason,stitched,"
                "stack_leaf_first\r\n"
                "10,100,100,0,prog,prog,cpu-clock,1003009,1,root,0,A1\r\n"
                "20,100,100,0,prog,prog,cpu-clock,1003009,1,root,0,A2;A1\r\n");
    capture_free(captured);
}

static void test_filters_choose_samples(void)
{
    struct captured *captured =
        script((struct report_selection){.time = "0.00000001,0.00000003", .focus = "A2"}, "csv", 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "\r\n20,100,100,0,prog,prog,cpu-clock,1003009,1,"
                                                  "root,0,A2;A1\r\n"));
    CU_ASSERT_PTR_NULL(strstr(captured->text, "\r\n10,"));
    CU_ASSERT_PTR_NULL(strstr(captured->text, "\r\n30,"));
    capture_free(captured);
    captured = script((struct report_selection){.cpus = "7"}, "csv", 0);
    CU_ASSERT_EQUAL(strlen(captured->text), strcspn(captured->text, "\n") + 1);
    capture_free(captured);
}

static void test_json_is_valid(void)
{
    char message[200] = "";
    struct captured *captured = script((struct report_selection){0}, "json", 0);
    yajl_val samples = yajl_tree_parse(captured->text, message, sizeof message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(samples);
    CU_ASSERT_EQUAL(YAJL_GET_ARRAY(samples)->len, 7);
    const char *path[] = {"stack", NULL};
    yajl_val stack = yajl_tree_get(YAJL_GET_ARRAY(samples)->values[2], path, yajl_t_array);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stack);
    CU_ASSERT_EQUAL(YAJL_GET_ARRAY(stack)->len, 4);
    yajl_tree_free(samples);
    capture_free(captured);
}

static void test_errors_are_those_of_tables(void)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    const struct report_selection selection = {.thread = "nobody"};
    CU_ASSERT_EQUAL(report_script(captured->out, example.store, &selection,
                                  &(struct report_style){0}, 0, &error),
                    SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no thread is called 'nobody'"));
    capture_free(captured);
}

void sprof_suite_report_script(void);
void sprof_suite_report_script(void)
{
    CU_pSuite suite = CU_add_suite("report/script", example_open, example_close);
    CU_add_test(suite, "text", test_text);
    CU_add_test(suite, "addresses depend on time", test_addresses_depend_on_time);
    CU_add_test(suite, "limit and CSV", test_limit_and_csv);
    CU_add_test(suite, "filters choose samples", test_filters_choose_samples);
    CU_add_test(suite, "JSON is valid", test_json_is_valid);
    CU_add_test(suite, "errors are those of tables", test_errors_are_those_of_tables);
}
