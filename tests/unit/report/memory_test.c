/* Fails the n-th allocation, for every n: a report either fails with SPROF_ENOMEM or is complete.
 */
#include "tests/unit/scarce_memory.h"

#include "tests/unit/report/recorded.h"

static FILE *nowhere;

static int open_nowhere(void)
{
    nowhere = fopen("/dev/null", "w");
    return example_open();
}

static int close_nowhere(void)
{
    fclose(nowhere);
    return example_close();
}

/* What a report returns is also in its error. */
static int check_error(int (*report)(struct sprof_error *))
{
    struct sprof_error error = {0};
    const int result = report(&error);
    CU_ASSERT_EQUAL(error.code, result);
    return result;
}

static int functions(struct sprof_error *error)
{
    const struct report_request request = {.table = {.inclusive = true, .limit = 2}};
    return report_write(nowhere, example.store, &request, error);
}

static int modules(struct sprof_error *error)
{
    static const enum report_key module = REPORT_MODULE;
    const struct report_request request = {.table = {.keys = &module, .key_count = 1},
                                           .style = style_of("csv")};
    return report_write(nowhere, example.store, &request, error);
}

static int tree(struct sprof_error *error)
{
    const struct report_request request = {
        .selection = {.other_mode = true, .mode = MODEL_MODE_APP, .thread = "prog"},
        .table = {.view = REPORT_TREE, .min_percent = 20},
        .style = style_of("json")};
    return report_write(nowhere, example.store, &request, error);
}

static int tree_by_thread(struct sprof_error *error)
{
    static const enum report_key thread = REPORT_THREAD;
    const struct report_request request = {
        .table = {.view = REPORT_TREE_BY, .keys = &thread, .key_count = 1}};
    return report_write(nowhere, example.store, &request, error);
}

static int callees(struct sprof_error *error)
{
    const struct report_request request = {
        .table = {.view = REPORT_CALLEES, .function = "prog!A2"}};
    return report_write(nowhere, example.store, &request, error);
}

static int script_text(struct sprof_error *error)
{
    return report_script(nowhere, example.store, &(struct report_selection){0},
                         &(struct report_style){0}, 0, error);
}

static int script_json(struct sprof_error *error)
{
    const struct report_style style = style_of("json");
    return report_script(nowhere, example.store, &(struct report_selection){0}, &style, 0, error);
}

static int annotated(struct sprof_error *error)
{
    const struct report_annotate_options options = {.function = "A2", .context = 2};
    return report_annotate(nowhere, example.store, &(struct report_selection){0}, &options,
                           &(struct report_style){0}, error);
}

static int page(struct sprof_error *error)
{
    const struct report_html_input inputs[] = {{example.store, "a.db"}, {example.store, "b.db"}};
    return report_html(nowhere, inputs, 2, &(struct report_html_options){0}, error);
}

static int filtered(struct sprof_error *error)
{
    static const enum report_key keys[] = {REPORT_THREAD, REPORT_CPU, REPORT_LINE};
    const struct report_request request = {
        .selection = {.time = "0%,90%", .cpus = "0-3", .focus = "A", .hide = "A3", .module = "*"},
        .table = {.keys = keys, .key_count = 3, .show = "samples,function"}};
    return report_write(nowhere, example.store, &request, error);
}

static int query(struct sprof_error *error)
{
    return report_query(nowhere, example.store, "SELECT name, path FROM module", 0,
                        &(struct report_style){0}, error);
}

static int summary(struct sprof_error *error)
{
    return report_summary(nowhere, example.store,
                          &(struct report_summary_options){.path = "sprof.db", .note = ""}, error);
}

#define FAIL_EACH(name)                                                                            \
    static int use_##name(void)                                                                    \
    {                                                                                              \
        return check_error(name);                                                                  \
    }                                                                                              \
    static void test_##name(void)                                                                  \
    {                                                                                              \
        scarce_memory_fail_each(use_##name, 5);                                                    \
    }
FAIL_EACH(functions)
FAIL_EACH(modules)
FAIL_EACH(tree)
FAIL_EACH(tree_by_thread)
FAIL_EACH(callees)
FAIL_EACH(script_text)
FAIL_EACH(script_json)
FAIL_EACH(query)
FAIL_EACH(annotated)
FAIL_EACH(filtered)
FAIL_EACH(page)
FAIL_EACH(summary)

void sprof_suite_report_memory(void);
void sprof_suite_report_memory(void)
{
    CU_pSuite suite = CU_add_suite("report/memory", open_nowhere, close_nowhere);
    CU_add_test(suite, "functions", test_functions);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "tree", test_tree);
    CU_add_test(suite, "tree by thread", test_tree_by_thread);
    CU_add_test(suite, "callees", test_callees);
    CU_add_test(suite, "script as text", test_script_text);
    CU_add_test(suite, "script as JSON", test_script_json);
    CU_add_test(suite, "query", test_query);
    CU_add_test(suite, "annotated", test_annotated);
    CU_add_test(suite, "filtered", test_filtered);
    CU_add_test(suite, "page", test_page);
    CU_add_test(suite, "summary", test_summary);
}
