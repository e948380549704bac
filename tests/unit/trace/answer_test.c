/* The words of a drill-down's end. */
#include "names/names.h"
#include "trace/drill/drilling.h"

#include <CUnit/CUnit.h>
#include <string.h>

static struct trace_session session; /* names are shown in full */

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
    drilling = (struct trace_drilling){.common = &session,
                                       .functions = {.items = names, .count = 4},
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

/* Where there is a screen, names are short, and two that would look the same differ. */
static void test_names_are_short(void)
{
    static struct trace_session shows;
    static struct trace_drilled of_shop[] = {
        {.name = "shop::serve(int)"}, {.name = "shop::serve(char const*)"}, {.name = "main"}};
    static struct trace_drilling drilling;
    uint32_t way[] = {0, 1};
    shows.options.names = names_screen_new();
    drilling = (struct trace_drilling){.common = &shows,
                                       .functions = {.items = of_shop, .count = 3},
                                       .begun_ns = sprof_clock_monotonic_ns()};
    drilling.drills[0] = (struct rules_drill){.nodes = {.items = nodes, .count = 2},
                                              .way = {.items = way, .count = 2},
                                              .state = RULES_DRILL_NOTHING};
    CU_ASSERT_EQUAL_FATAL(trace_drilling_conclude(&drilling, 0), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(drilling.answer.text, "most of the time of shop::serve; "));
    CU_ASSERT_PTR_NOT_NULL(strstr(drilling.answer.text, "  → shop::serve(char const*)  60 %"));
    sprof_str_release(&drilling.answer);
    names_screen_free(shows.options.names);
}

enum { OTHERS = 9 };

/* The root, and others with these parts of its time, none of them on the way. */
static struct trace_drilling with_others;
static struct trace_drilled other_names[1 + OTHERS];
static struct rules_drill_node other_nodes[1 + OTHERS];
static uint32_t root_alone[] = {0};

static struct rules_drill *make_others(const double *parts, size_t count)
{
    static const char *const all[] = {"root", "a", "b", "c", "d", "e", "f", "g", "h", "i"};
    for (size_t i = 0; i <= count; i++) {
        other_names[i] = (struct trace_drilled){.name = all[i]};
        other_nodes[i] = (struct rules_drill_node){
            .function = (uint32_t)i, .calls = 10, .ns = 1e6, .part = i ? parts[i - 1] : 0};
    }
    with_others = (struct trace_drilling){.common = &session,
                                          .functions = {.items = other_names, .count = count + 1},
                                          .begun_ns = sprof_clock_monotonic_ns()};
    struct rules_drill *drill = &with_others.drills[0];
    *drill = (struct rules_drill){.nodes = {.items = other_nodes, .count = count + 1},
                                  .way = {.items = root_alone, .count = 1},
                                  .state = RULES_DRILL_NOTHING};
    return drill;
}

/* Whether the answer holds this; forgets it. */
static bool concludes(const char *part)
{
    CU_ASSERT_EQUAL_FATAL(trace_drilling_conclude(&with_others, 0), 0);
    const bool is = strstr(with_others.answer.text, part);
    sprof_str_release(&with_others.answer);
    return is;
}

/* The largest come first, equal ones in their order, and six of them. */
static void test_others(void)
{
    static const double equal[] = {0.1, 0.3, 0.1, 0.1}, many[] = {.1, .1, .1, .1, .1, .1, .1},
                        sorted[] = {.01, .02, .03, .04, .05, .06, .07, .08, .09};
    make_others(equal, 4);
    CU_ASSERT_TRUE(concludes("ruled out: b 30 %, a 10 %, c 10 %, d 10 %\n"));
    make_others(many, 6);
    CU_ASSERT_TRUE(concludes("d 10 %, e 10 %, f 10 %\n"));
    make_others(many, 7); /* one is left */
    CU_ASSERT_TRUE(concludes("d 10 %, e 10 %, f 10 %, and smaller ones\n"));
    make_others(sorted, OTHERS);
    CU_ASSERT_TRUE(concludes("ruled out: i 9 %, h 8 %, g 7 %, f 6 %, e 5 %, d 4 %, and smaller"));
    CU_ASSERT_TRUE(concludes("no single function has most of the time of root; 0 steps"));
}

/* A function of the way is never among the others. */
static void test_way_is_no_other(void)
{
    static const double parts[] = {0.9, 0.05};
    uint32_t way[] = {0, 1};
    struct rules_drill *drill = make_others(parts, 2);
    drill->way.items = way;
    drill->way.count = 2;
    CU_ASSERT_TRUE(concludes("ruled out: b 5 %\n"));
}

/* Functions without calls are counted. Without errors they may have had calls. */
static void test_not_called(void)
{
    static const double parts[] = {0, 0, 0.2, 0};
    struct rules_drill *drill = make_others(parts, 4);
    for (size_t i = 1; i <= 4; i++)
        other_nodes[i].calls = 0;
    CU_ASSERT_TRUE(concludes("not called: 3 functions that had probes\n"));
    drill->condition.kind = RULES_ERRORS;
    other_nodes[1].is_uncalled = true;
    other_nodes[2].is_probed = true;
    other_nodes[2].calls = 1;
    CU_ASSERT_TRUE(concludes("not called: 1 function that had probes\n"));
}

/* The condition, without its functions, and the value that met it. */
static void test_condition(void)
{
    struct rules_drill *drill = make_others(NULL, 0);
    drill->state = RULES_DRILL_FOUND;
    drill->step_count = 1;
    drill->condition = (struct rules_condition){.kind = RULES_ERRORS, .text = "errors > 3 %:^a"};
    drill->measured = 12.5;
    other_nodes[0].failed = 4;
    CU_ASSERT_TRUE(concludes("culprit: root, itself 100 % of the errors of root (errors > 3 %: "
                             "12.5 %); 1 step in "));
    drill->condition.text = "errors > 4 %";
    drill->measured = 0;
    drill->state = RULES_DRILL_LOOKS;
    CU_ASSERT_TRUE(concludes("ended before it was known what has the errors of root: so far "
                             "(errors > 4 %); 1 step in "));
}

/* Errors need no CPU, and a culprit that was on one for half of its time does not wait. */
static void test_waiting(void)
{
    struct rules_drill *drill = make_others(NULL, 0);
    drill->state = RULES_DRILL_FOUND;
    other_nodes[0].self_ns = 1e6;
    with_others.step_cpu_ns = 0.49e6;
    CU_ASSERT_TRUE(concludes("\n  on a CPU for at most 49 % of that: it waits, or has no CPU\n"));
    with_others.step_cpu_ns = 0.5e6;
    CU_ASSERT_FALSE(concludes("on a CPU"));
    with_others.step_cpu_ns = 0;
    drill->condition.kind = RULES_ERRORS;
    CU_ASSERT_FALSE(concludes("on a CPU"));
    drill->condition.kind = RULES_ALWAYS;
    other_nodes[0].self_ns = 0; /* nothing to compare with */
    CU_ASSERT_FALSE(concludes("on a CPU"));
}

static const char *mark_of(struct rules_drill *drill, enum rules_drill_state state)
{
    drill->state = state;
    const char *mark = trace_drilling_mark(&with_others, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mark);
    return mark;
}

static void test_marks(void)
{
    static const double parts[] = {0.9, 0.1};
    uint32_t way[] = {0, 2};
    struct rules_drill_step steps[] = {{.action = RULES_DRILL_ADD, .function = 2, .cause = 1},
                                       {.action = RULES_DRILL_DROP, .function = 1, .cause = 0}};
    struct rules_drill *drill = make_others(parts, 2);
    drill->way.items = way;
    drill->way.count = 2;
    drill->step_count = 3;
    CU_ASSERT_STRING_EQUAL(mark_of(drill, RULES_DRILL_LOOKS), "step 3: below root");
    drill->steps.items = steps;
    drill->steps.count = 2;
    CU_ASSERT_STRING_EQUAL(mark_of(drill, RULES_DRILL_LOOKS), "step 3: below a");
    CU_ASSERT_STRING_EQUAL(mark_of(drill, RULES_DRILL_FOUND), "culprit: b");
    CU_ASSERT_STRING_EQUAL(mark_of(drill, RULES_DRILL_NOTHING), "root: the drill-down has ended");
    sprof_arena_release(&with_others.arena);
}

/* At the end, roots that were not reported yet are, once. */
static void test_finish(void)
{
    static struct trace_session tracing;
    static struct trace trace;
    static const double parts[] = {0.5};
    struct rules_drill *drill = make_others(parts, 1);
    tracing.trace = &trace;
    trace.drilling = &with_others;
    with_others.reader.root_count = 1;
    drill->way.count = 0;
    drill->state = RULES_DRILL_WAITS;
    with_others.reader.below[0].has_calls = true;
    CU_ASSERT_EQUAL(trace_drilling_finish(&tracing), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(trace_drill_answer(&tracing), "root was called, and its condi"));
    sprof_str_release(&with_others.answer);
    drill->state = RULES_DRILL_LOOKS;
    CU_ASSERT_EQUAL(trace_drilling_finish(&tracing), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(trace_drill_answer(&tracing), "for too short a time"));
    sprof_str_release(&with_others.answer);
    drill->way.count = 1;
    CU_ASSERT_EQUAL(trace_drilling_finish(&tracing), 0);
    CU_ASSERT_EQUAL(strncmp(trace_drill_answer(&tracing), "ended before it was known", 25), 0);
    sprof_str_release(&with_others.answer);
    CU_ASSERT_EQUAL(trace_drilling_finish(&tracing), 0);
    CU_ASSERT_PTR_NULL(trace_drill_answer(&tracing));
}

void sprof_suite_trace_answer(void);
void sprof_suite_trace_answer(void)
{
    CU_pSuite suite = CU_add_suite("trace/answer", NULL, NULL);
    CU_add_test(suite, "shares are of the root", test_shares_are_of_the_root);
    CU_add_test(suite, "names are short", test_names_are_short);
    CU_add_test(suite, "others", test_others);
    CU_add_test(suite, "the way is no other", test_way_is_no_other);
    CU_add_test(suite, "functions without calls", test_not_called);
    CU_add_test(suite, "the condition", test_condition);
    CU_add_test(suite, "waiting", test_waiting);
    CU_add_test(suite, "marks", test_marks);
    CU_add_test(suite, "the end of the trace", test_finish);
}
