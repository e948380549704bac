#include "tests/unit/report/recorded.h"

#include <yajl/yajl_tree.h>

static void check(const char *sql, const char *format, const char *expected)
{
    struct captured *captured = capture();
    struct sprof_error error = {0};
    const struct report_style style = style_of(format);
    CU_ASSERT_EQUAL(report_query(captured->out, example.store, sql, 0, &style, &error), 0);
    assert_text(error.message, "");
    assert_text(captured_text(captured), expected);
    capture_free(captured);
}

static void test_an_aligned_table(void)
{
    check("SELECT name, length(name) * 1000 AS size, NULL AS absent FROM module ORDER BY id",
          "text",
          "name      size  absent\n"
          "prog      4000\n"
          "libs.so   7000\n"
          "[kernel]  8000\n"
          "[none]    6000\n");
    check("SELECT 1 AS one WHERE 0", "text", "");
    check("SELECT 'a' || char(27) || '[1mb' AS hostile", "text", "hostile\na\xef\xbf\xbd[1mb\n");
}

static void test_csv_quotes(void)
{
    check("SELECT 'a,b' AS \"x\"\"y\", 'say \"no\"' AS b, NULL AS c, 'plain' AS d", "csv",
          "\"x\"\"y\",b,c,d\r\n\"a,b\",\"say \"\"no\"\"\",,plain\r\n");
}

static void test_json(void)
{
    char message[200];
    const struct report_style style = style_of("json");
    struct captured *captured = capture();
    CU_ASSERT_EQUAL(report_query(captured->out, example.store,
                                 "SELECT id, problem FROM module ORDER BY id", 0, &style, NULL),
                    0);
    yajl_val rows = yajl_tree_parse(captured_text(captured), message, sizeof message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    CU_ASSERT_EQUAL(YAJL_GET_ARRAY(rows)->len, 4);
    yajl_tree_free(rows);
    capture_free(captured);
}

/* More rows than the widths are taken from. */
static void test_many_rows(void)
{
    struct captured *captured = capture();
    CU_ASSERT_EQUAL(
        report_query(captured->out, example.store,
                     "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                     "i < 5000) SELECT i, 'x' || i AS name FROM n",
                     0, &(struct report_style){0}, NULL),
        0);
    size_t lines = 0;
    for (const char *at = captured_text(captured); (at = strchr(at, '\n')); at++)
        lines++;
    CU_ASSERT_EQUAL(lines, 5001);
    CU_ASSERT_PTR_NOT_NULL(strstr(captured->text, "\n5000  x5000\n"));
    capture_free(captured);
}

static void test_a_wrong_statement(void)
{
    static const char *const formats[] = {"text", "csv", "json"};
    for (int i = 0; i < 3; i++) {
        struct captured *captured = capture();
        struct sprof_error error = {0};
        const struct report_style style = style_of(formats[i]);
        CU_ASSERT_EQUAL(report_query(captured->out, example.store, "SELEC 1", 0, &style, &error),
                        SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "syntax error"));
        capture_free(captured);
    }
}

void sprof_suite_report_query(void);
void sprof_suite_report_query(void)
{
    CU_pSuite suite = CU_add_suite("report/query", example_open, example_close);
    CU_add_test(suite, "an aligned table", test_an_aligned_table);
    CU_add_test(suite, "CSV quotes", test_csv_quotes);
    CU_add_test(suite, "JSON", test_json);
    CU_add_test(suite, "many rows", test_many_rows);
    CU_add_test(suite, "a wrong statement", test_a_wrong_statement);
}
