#include "report/utf8_text.h"
#include "tests/unit/report/datasets.h"

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        char line[1024];
        snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
        const size_t width = report_utf8_width(line);
        widest = width > widest ? width : widest;
        text = end + 1;
    }
    return widest;
}

static void test_long_names_are_cut_to_the_page(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app =
        add_module(&dataset, "a-module-with-quite-a-long-name-as-well.so.1.2.3", MODEL_KIND_APP);
    char name[400];
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "ß", 3);
    add_path(&dataset, 0, add_function(&dataset, app, name), 3);
    add_path(&dataset, 0, add_function(&dataset, app, "short"), 1);
    finish_dataset(&dataset);
    for (unsigned columns = 60; columns <= 200; columns += 7) {
        struct table table;
        const struct report_table_options options = {0};
        CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
        const char *text = text_of(&table, columns);
        CU_ASSERT_TRUE(widest_line(text) <= columns);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "…"));
        report_table_release(&table);
    }
    report_dataset_release(&dataset);
}

static void test_a_small_table_is_not_padded(void)
{
    struct report_dataset dataset = {.event.is_clock = true};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 2000000);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {0};
    CU_ASSERT_EQUAL(report_table_by_keys(&table, &dataset, &options, NULL), 0);
    same_text(text_of(&table, 100),
              "Functions by exclusive samples               % of 2 000 000 samples\n"
              "     self    ±    time  samples  function  module\n"
              "  100.0 %  0.0  2.0 ms  2000000  f         app\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

/* A recursion of 10 000 levels: one line each, none wider than the page. */
static void test_deep_trees_keep_their_width(void)
{
    enum { LEVELS = 10000 };
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t function = add_function(&dataset, app, "recurse_with_a_rather_long_name");
    for (uint32_t level = 0, path = 0; level < LEVELS; level++)
        path = add_path(&dataset, path, function, 1);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    CU_ASSERT_EQUAL(report_table_rows(&table), LEVELS);
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_EQUAL(report_table_write_text(out, &table, 80, false), 0);
    fclose(out);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    CU_ASSERT_EQUAL(lines, LEVELS + 3);
    CU_ASSERT_TRUE(widest_line(text) <= 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "…10000 └ "));
    free(text);
    report_table_release(&table);
    report_dataset_release(&dataset);
}

static void test_branches(void)
{
    struct report_dataset dataset = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    const uint32_t a = add_function(&dataset, app, "a"), b = add_function(&dataset, app, "b");
    const uint32_t root = add_path(&dataset, 0, a, 0);
    add_path(&dataset, add_path(&dataset, root, a, 1), b, 3);
    add_path(&dataset, add_path(&dataset, root, b, 1), a, 2);
    add_path(&dataset, 0, b, 3);
    finish_dataset(&dataset);
    struct table table;
    const struct report_table_options options = {.view = REPORT_TREE};
    CU_ASSERT_EQUAL(report_table_of_tree(&table, &dataset, &options, NULL), 0);
    same_text(text_of(&table, 100), "Call paths                                   % of 10 samples\n"
                                    "  inclusive          exclusive\n"
                                    "  samples  of all    samples  of all  call path\n"
                                    "        7    70 %          0     0 %  a\n"
                                    "        4    40 %          1    10 %  ├ a\n"
                                    "        3    30 %          3    30 %  │ └ b\n"
                                    "        3    30 %          1    10 %  └ b\n"
                                    "        2    20 %          2    20 %    └ a\n"
                                    "        3    30 %          3    30 %  b\n");
    report_table_release(&table);
    report_dataset_release(&dataset);
}

void sprof_suite_report_text(void);
void sprof_suite_report_text(void)
{
    CU_pSuite suite = CU_add_suite("report/text", NULL, NULL);
    CU_add_test(suite, "long names are cut to the page", test_long_names_are_cut_to_the_page);
    CU_add_test(suite, "a small table is not padded", test_a_small_table_is_not_padded);
    CU_add_test(suite, "deep trees keep their width", test_deep_trees_keep_their_width);
    CU_add_test(suite, "branches", test_branches);
}
