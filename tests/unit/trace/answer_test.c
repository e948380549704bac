/* The words of a drill-down's end. */
#include "trace/drill/drilling.h"

#include <CUnit/CUnit.h>
#include <string.h>

static struct trace_drilled names[] = {
    {.name = "serve"}, {.name = "parse"}, {.name = "scan"}, {.name = "log_it"}};

/* Of 100 ms in serve, 60 are in parse, of which scan has 42 itself; log_it has 10. */
static struct rules_drill_node nodes[] = {
    {.function = 0, .calls = 10, .ns = 100e6, .self_ns = 30e6},
    {.function = 1, .found_by = RULES_BY_CALL, .calls = 20, .ns = 60e6, .self_ns = 15e6},
    {.function = 3, .found_by = RULES_BY_CALL, .part = 0.1, .calls = 10, .ns = 10e6},
    {.function = 2, .found_by = RULES_BY_POINTER, .calls = 40, .ns = 45e6, .self_ns = 42e6},
};

static void test_shares_are_of_the_root(void)
{
    static struct trace_drilling drilling;
    uint32_t way[] = {0, 1, 3};
    drilling = (struct trace_drilling){.functions = {.items = names, .count = 4},
                                       .step_cpu_ns = 6e6,
                                       .begun_ns = sprof_clock_monotonic_ns()};
    struct rules_drill *drill = &drilling.drills[0];
    *drill = (struct rules_drill){.nodes = {.items = nodes, .count = 4},
                                  .way = {.items = way, .count = 3},
                                  .state = RULES_DRILL_FOUND,
                                  .step_count = 2};
    CU_ASSERT_EQUAL_FATAL(trace_drilling_conclude(&drilling, 0), 0);
    const char *text = drilling.answer.text;
    CU_ASSERT_EQUAL(strncmp(text, "culprit: scan, itself 42 % of the time of serve", 47), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "; 2 steps in "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "on a CPU for at most 14 % of that"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  serve  100 %, itself 30 %; 10 calls of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  → parse  60 %, itself 15 %; 20 calls of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "→ scan  45 %, itself 42 %; 40 calls of "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ", called by a pointer\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  ruled out: log_it 10 %"));
    CU_ASSERT_TRUE(drilling.is_reported[0]);
    sprof_str_release(&drilling.answer);
}

void sprof_suite_trace_answer(void);
void sprof_suite_trace_answer(void)
{
    CU_pSuite suite = CU_add_suite("trace/answer", NULL, NULL);
    CU_add_test(suite, "shares are of the root", test_shares_are_of_the_root);
}
