/* Which functions a drill-down may probe next, and in which order. */
#include "tests/unit/trace/drilled.h"

static struct drilled drilled;

/* The names of what the drill-down could add below a function, in its order. */
static const char *candidates(uint32_t function, enum rules_found_by by)
{
    static char text[128];
    struct rules_drill_list list = {0};
    size_t length = 0;
    text[0] = 0;
    CU_ASSERT_EQUAL(trace_drilling_callees(drilled.drilling, function, by, &list), 0);
    for (size_t i = 0; i < list.functions.count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? " " : "",
                                   drilled.drilling->functions.items[list.functions.items[i]].name);
    sprof_vec_release(&list.functions);
    return text;
}

static uint32_t number_of(size_t probe)
{
    return trace_drilling_number(drilled.drilling, &drilled.made.session, probe) - 1;
}

/* Those that may wait come first, then larger ones. */
static void test_order(void)
{
    drilled_begin(&drilled);
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_ROOT), RULES_BY_CALL),
                           "work slow big tiny");
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_BIG), RULES_BY_CALL), "");
    drilled_end(&drilled);
}

/* Only a function that calls by a pointer has targets of pointers, and only one that calls another
 * module is called back. No function is below itself. */
static void test_pointers(void)
{
    drilled_begin(&drilled);
    struct probing_probe *probes = drilled.made.session.probes.items;
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_ROOT), RULES_BY_POINTER), "");
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_BIG), RULES_BY_CALLBACK), "");
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_WORK), RULES_BY_POINTER), "root pointed");
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_WORK), RULES_BY_CALLBACK), "");
    drilled.functions[DRILLED_POINTED].open_calls = 1;
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_POINTED), RULES_BY_POINTER), "root");
    probes[DRILLED_ROOT].is_chosen = false; /* it has neither a probe nor room for one */
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_POINTED), RULES_BY_POINTER), "");
    drilled_end(&drilled);
}

/* A command may exclude functions while the trace runs. */
static void test_excluded(void)
{
    drilled_begin(&drilled);
    struct probing_program *program = &drilled.made.session.probing;
    char exclusion[] = "-^(slow|tiny)$";
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(program, &error), 0);
    CU_ASSERT_EQUAL_FATAL(probing_change_ranges(program, exclusion, &error), 0);
    CU_ASSERT_STRING_EQUAL(candidates(number_of(DRILLED_ROOT), RULES_BY_CALL), "work big");
    drilled_end(&drilled);
}

/* A function has one number in all programs, by file and start. */
static void test_numbers(void)
{
    static struct made other;
    drilled_begin(&drilled);
    made_begin(&other, &drilled_backend, DRILLED_FUNCTIONS);
    drilled_file(&drilled, &other.session);
    const uint32_t root = number_of(DRILLED_ROOT), work = number_of(DRILLED_WORK);
    CU_ASSERT_NOT_EQUAL(root, work);
    CU_ASSERT_EQUAL(number_of(DRILLED_ROOT), root); /* again */
    CU_ASSERT_EQUAL(trace_drilling_number(drilled.drilling, &other.session, DRILLED_WORK) - 1,
                    work);
    CU_ASSERT_EQUAL(drilled.drilling->functions.count, 2);
    CU_ASSERT_EQUAL(trace_drilling_probe(drilled.drilling, &other.session, root), DRILLED_ROOT);
    CU_ASSERT_EQUAL(trace_drilling_probe(drilled.drilling, &other.session, work), DRILLED_WORK);
    other.session.files.items[0].path = "/app/other"; /* its functions are others */
    CU_ASSERT_EQUAL(trace_drilling_probe(drilled.drilling, &other.session, root), SIZE_MAX);
    other.session.probes.items[DRILLED_BIG].drill_number = 0;
    CU_ASSERT_EQUAL(trace_drilling_number(drilled.drilling, &other.session, DRILLED_BIG), 3);
    CU_ASSERT_STRING_EQUAL(drilled.drilling->functions.items[2].path, "/app/other");
    other.session.files.items[0].path = "/app/program";
    other.session.files.items[0].count = DRILLED_BIG; /* built without the rest */
    CU_ASSERT_EQUAL(trace_drilling_probe(drilled.drilling, &other.session, root), DRILLED_ROOT);
    CU_ASSERT_EQUAL(trace_drilling_probe(drilled.drilling, &other.session, work), SIZE_MAX);
    made_end(&other);
    drilled_end(&drilled);
}

void sprof_suite_trace_candidates(void);
void sprof_suite_trace_candidates(void)
{
    CU_pSuite suite = CU_add_suite("trace/candidates", NULL, NULL);
    CU_add_test(suite, "order", test_order);
    CU_add_test(suite, "pointers and callbacks", test_pointers);
    CU_add_test(suite, "excluded functions", test_excluded);
    CU_add_test(suite, "numbers", test_numbers);
}
