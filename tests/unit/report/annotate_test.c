/* A function's lines without its file: what cannot be shown is said. Real programs are in
 * tests/system. */
#include "tests/unit/report/recorded.h"

static struct captured *annotate(const struct report_annotate_options *options, const char *format,
                                 int code, struct sprof_error *error)
{
    struct captured *captured = capture();
    const struct report_style style = style_of(format);
    CU_ASSERT_EQUAL(report_annotate(captured->out, example.store, &(struct report_selection){0},
                                    options, &style, error),
                    code);
    captured_text(captured);
    return captured;
}

static void test_lines_without_files(void)
{
    struct sprof_error error = {0};
    struct captured *captured = annotate(
        &(struct report_annotate_options){.function = "A2", .context = 4}, "csv", 0, &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, ",source,main.c,20,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, ",source,main.c,21,"));
    CU_ASSERT_PTR_NULL(strstr(captured->text, ",source,main.c,31,"));
    CU_ASSERT_PTR_NULL(strstr(captured->text, "instruction"));
    capture_free(captured);
    captured = annotate(&(struct report_annotate_options){.function = "A2"}, "text", 0, &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "the source main.c cannot be read"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "Annotation of A2"));
    capture_free(captured);
}

static void test_a_function_without_lines(void)
{
    struct sprof_error error = {0};
    struct captured *captured =
        annotate(&(struct report_annotate_options){.function = "[not sampled]"}, "text", 0, &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "no debug information about source lines"));
    capture_free(captured);
    captured = annotate(&(struct report_annotate_options){.function = "nosuch"}, "text",
                        SPROF_ENOTFOUND, &error);
    assert_text(captured->text, "");
    capture_free(captured);
}

static void test_the_hottest_functions(void)
{
    struct sprof_error error = {0};
    struct captured *captured =
        annotate(&(struct report_annotate_options){.top = 2}, "text", 0, &error);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(captured->text, "Annotation of the 2 functions with most self time"));
    const char *first = strstr(captured->text, "── ");
    const char *second = first ? strstr(first + 1, "── ") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_PTR_NULL(strstr(second + 1, "── "));
    /* What is missing is missing of one of them. */
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "  S2: /usr/lib/libs.so is gone; the source "));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "  A2: /home/me/prog is gone; the source "));
    capture_free(captured);
    /* Programs read in each row which function it is of. */
    captured = annotate(&(struct report_annotate_options){.top = 1000}, "csv", 0, &error);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, ",target,function\r\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, ",source,main.c,20,,,,,A2\r\n"));
    capture_free(captured);
}

void sprof_suite_report_annotate(void);
void sprof_suite_report_annotate(void)
{
    CU_pSuite suite = CU_add_suite("report/annotate", example_open, example_close);
    CU_add_test(suite, "lines without files", test_lines_without_files);
    CU_add_test(suite, "a function without lines", test_a_function_without_lines);
    CU_add_test(suite, "the hottest functions", test_the_hottest_functions);
}
