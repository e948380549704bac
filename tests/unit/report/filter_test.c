/* Filters by regular expression and by module, with pprof's meaning. */
#include "report/dataset.h"
#include "report/function_search.h"
#include "tests/unit/report/recorded.h"

/* Every path left with its exclusive samples, in the order of the tree. */
static void check(const struct report_selection *selection, const char *expected)
{
    struct report_dataset dataset;
    struct sprof_error error = {0};
    struct sprof_str text = {0};
    CU_ASSERT_EQUAL(report_dataset_load(&dataset, example.store, selection, 0, &error), 0);
    sprof_str_append(&text, "");
    for (size_t i = 0; i < dataset.paths.items.count; i++) {
        const struct model_path *path = &dataset.paths.items.items[i];
        const char *names[16];
        size_t depth = 0;
        if (!path->costs.exclusive.samples)
            continue;
        for (uint32_t id = path->id; id; id = dataset.paths.items.items[id - 1].parent)
            names[depth++] =
                report_dataset_function_name(&dataset, dataset.paths.items.items[id - 1].function);
        while (depth-- > 0)
            sprof_str_appendf(&text, "%s%s", names[depth], depth ? ";" : " ");
        sprof_str_appendf(&text, "%d\n", (int)path->costs.exclusive.samples);
    }
    assert_text(text.text, expected);
    assert_text(error.message, "");
    CU_ASSERT_EQUAL(dataset.all.samples, 6);
    sprof_str_release(&text);
    report_dataset_release(&dataset);
}

static void test_each_filter(void)
{
    check(&(struct report_selection){0}, "A1 1\nA1;A2 1\nA1;A2;S1;S2 2\nA1;A3;A2 1\n"
                                         "A1;A3;A2;S1;S2 1\n");
    check(&(struct report_selection){.focus = "A3"}, "A1;A3;A2 1\nA1;A3;A2;S1;S2 1\n");
    check(&(struct report_selection){.ignore = "A3"}, "A1 1\nA1;A2 1\nA1;A2;S1;S2 2\n");
    check(&(struct report_selection){.hide = "A2|S1"}, "A1 2\nA1;S2 2\nA1;A3 1\nA1;A3;S2 1\n");
    check(&(struct report_selection){.show_from = "^A2$"}, "A2 2\nA2;S1;S2 3\n");
    check(&(struct report_selection){.module = "libs*"}, "A1;A2;S1;S2 2\nA1;A3;A2;S1;S2 1\n");
    check(&(struct report_selection){.focus = "S", .ignore = "A3", .hide = "A1"}, "A2;S1;S2 2\n");
}

/* Sources and modules are searched, too; what is hidden still counts for --focus. */
static void test_what_is_searched(void)
{
    check(&(struct report_selection){.hide = "main\\.c"}, "S1;S2 3\n");
    check(&(struct report_selection){.focus = "libs"}, "A1;A2;S1;S2 2\nA1;A3;A2;S1;S2 1\n");
    check(&(struct report_selection){.focus = "A3", .hide = "A3"}, "A1;A2 1\nA1;A2;S1;S2 1\n");
    check(&(struct report_selection){.focus = "nothing"}, "");
    check(&(struct report_selection){.hide = "."}, "");
}

static void check_failure(const struct report_selection *selection, int code, const char *message)
{
    struct report_dataset dataset;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_dataset_load(&dataset, example.store, selection, 0, &error), code);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, message));
    if (!strstr(error.message, message))
        fprintf(stderr, "\nmessage: %s\n", error.message);
    report_dataset_release(&dataset);
}

static void test_bad_expressions(void)
{
    check_failure(&(struct report_selection){.focus = "a(b"}, SPROF_EUSAGE, "--focus 'a(b'");
    check_failure(&(struct report_selection){.hide = "*"}, SPROF_EUSAGE, "--hide '*'");
    check_failure(&(struct report_selection){.ignore = "\xff"}, SPROF_EUSAGE, "--ignore");
    check_failure(&(struct report_selection){.module = "libz*"}, SPROF_ENOTFOUND,
                  "no module is called 'libz*'");
}

/* Takes exponential time on a name that nearly matches. */
static void test_an_endless_expression_is_stopped(void)
{
    check_failure(&(struct report_selection){.focus = "^(?:(?:(?:.+)+)+)+[XY]$"}, SPROF_EUSAGE,
                  "takes too long on the name");
}

static void test_names(void)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    struct report_function_set set = {0};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_names_matching(names, 4, "function", "^[bd].*ta$", &set, &error), 0);
    CU_ASSERT_EQUAL_FATAL(set.count, 2);
    CU_ASSERT_EQUAL(set.items[0], 2);
    CU_ASSERT_EQUAL(set.items[1], 4);
    sprof_vec_release(&set);
    set = (struct report_function_set){0};
    CU_ASSERT_EQUAL(report_names_matching(names, 4, "function", "zeta", &set, &error),
                    SPROF_ENOTFOUND);
    assert_text(error.message,
                "no function has a name in which --function 'zeta' is found; near it: beta, delta");
    CU_ASSERT_EQUAL(report_names_matching(names, 4, "function", "(", &set, &error), SPROF_EUSAGE);
    sprof_vec_release(&set);
}

void sprof_suite_report_filter(void);
void sprof_suite_report_filter(void)
{
    CU_pSuite suite = CU_add_suite("report/filter", example_open, example_close);
    CU_add_test(suite, "each filter", test_each_filter);
    CU_add_test(suite, "what is searched", test_what_is_searched);
    CU_add_test(suite, "names", test_names);
    CU_add_test(suite, "bad expressions", test_bad_expressions);
    CU_add_test(suite, "an endless expression is stopped", test_an_endless_expression_is_stopped);
}
