/* The engine of a drill-down on programs that are tables: what calls what, and how long each takes.
 */
#include "rules/drill.h"

#include <CUnit/CUnit.h>
#include <string.h>

enum { FUNCTIONS = 600, CALLEES = 24, WINDOWS = 40 };

/* A call of a function takes `self_ns`, and calls each of its callees once. */
struct model_function {
    double self_ns;
    uint32_t callees[CALLEES];
    size_t direct, count; /* of callees; those behind `direct` are called by pointers */
    bool fails;
};

struct model_program {
    struct model_function functions[FUNCTIONS];
    bool probed[FUNCTIONS];
    double calls; /* of the root in a window */
    struct rules_drill_figures figures[FUNCTIONS];
    SPROF_VEC(struct rules_drill_flow) flows;
};

static void call(struct model_program *program, uint32_t from, uint32_t to, bool by_pointer)
{
    struct model_function *function = &program->functions[from];
    function->callees[function->count++] = to;
    function->direct = by_pointer ? function->direct : function->count;
}

/* == What probes would measure == */

static void add_flow(struct model_program *program, uint32_t caller, uint32_t callee, double ns)
{
    for (size_t i = 0; i < program->flows.count; i++) {
        struct rules_drill_flow *flow = &program->flows.items[i];
        if (flow->caller == caller && flow->callee == callee) {
            flow->calls += (uint64_t)program->calls;
            flow->ns += ns;
            return;
        }
    }
    const struct rules_drill_flow flow = {caller, callee, (uint64_t)program->calls, ns};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&program->flows, flow), 0);
}

/* Returns the time of a call with all below; what no probe below takes is added to `above`. */
static double run(struct model_program *program, uint32_t number, uint32_t above)
{
    const struct model_function *function = &program->functions[number];
    const uint32_t probe = program->probed[number] ? number : above;
    double ns = function->self_ns * program->calls;
    program->figures[probe].self_ns += ns;
    for (size_t i = 0; i < function->count; i++)
        ns += run(program, function->callees[i], probe);
    if (program->probed[number]) {
        program->figures[number].calls += (uint64_t)program->calls;
        program->figures[number].failed += function->fails ? (uint64_t)program->calls : 0;
        program->figures[number].ns += ns;
        if (number != above)
            add_flow(program, above, number, ns);
    }
    return ns;
}

static int callees_of(void *context, uint32_t number, enum rules_found_by by,
                      struct rules_drill_list *list)
{
    const struct model_program *program = context;
    const struct model_function *function = &program->functions[number];
    int result = 0;
    for (size_t i = 0; i < function->direct && by == RULES_BY_CALL && !result; i++)
        result = sprof_vec_push(&list->functions, function->callees[i]) ? SPROF_ENOMEM : 0;
    for (uint32_t n = 300;
         n < FUNCTIONS && by == RULES_BY_POINTER && !result && function->direct < function->count;
         n++) /* all whose address is taken, as far as code shows */
        result = sprof_vec_push(&list->functions, n) ? SPROF_ENOMEM : 0;
    return result;
}

/* Measures and decides for a window, and does what was decided. */
static void pass(struct model_program *program, struct rules_drill *drill)
{
    memset(program->figures, 0, sizeof program->figures);
    program->flows.count = 0;
    program->probed[0] = true;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        program->figures[i].function = i;
    const double ns = run(program, 0, 0);
    const struct rules_drill_window window = {.root = {.calls = program->figures[0].calls,
                                                       .failed = program->figures[0].failed,
                                                       .total_ns = ns,
                                                       .self_ns = program->figures[0].self_ns,
                                                       .seconds = 1},
                                              .figures = program->figures,
                                              .figure_count = program->calls > 0 ? FUNCTIONS : 0,
                                              .flows = program->flows.items,
                                              .flow_count = program->flows.count};
    const struct rules_drill_source source = {program, callees_of};
    CU_ASSERT_EQUAL_FATAL(rules_drill_take(drill, &window, &source), 0);
    for (size_t i = 0; i < drill->steps.count; i++) {
        const struct rules_drill_step *step = &drill->steps.items[i];
        if (step->action != RULES_DRILL_WOULD_ADD)
            program->probed[step->function] = step->action == RULES_DRILL_ADD;
    }
}

static size_t pass_to_end(struct model_program *program, struct rules_drill *drill)
{
    size_t windows = 0;
    while (drill->state <= RULES_DRILL_LOOKS && windows < WINDOWS) {
        pass(program, drill);
        windows++;
    }
    return windows;
}

static uint32_t culprit_of(const struct rules_drill *drill)
{
    return drill->state == RULES_DRILL_FOUND
               ? drill->nodes.items[drill->way.items[drill->way.count - 1]].function
               : UINT32_MAX;
}

static size_t count_probed(const struct model_program *program)
{
    size_t count = 0;
    for (size_t i = 0; i < FUNCTIONS; i++)
        count += program->probed[i];
    return count;
}

/* == Programs == */

/* Eight levels of ten functions each, each with ten small ones below; calls of the way by code,
 * and at two levels by pointers. */
static struct model_program *make_deep(void)
{
    static struct model_program program;
    sprof_vec_release(&program.flows);
    memset(&program, 0, sizeof program);
    program.calls = 100;
    uint32_t next = 10;
    for (uint32_t level = 0; level < 8; level++) {
        for (int i = 0; i < 9; i++) {
            program.functions[next].self_ns = 100;
            call(&program, level, next++, false);
        }
        const bool by_pointer = level == 3 || level == 6;
        const uint32_t below = by_pointer ? 400 + level : level + 1;
        program.functions[level].self_ns += 200;
        if (by_pointer) { /* a target of a pointer that leads on */
            call(&program, level, below, true);
            program.functions[below].self_ns = 50;
            call(&program, below, level + 1, false);
        } else {
            call(&program, level, below, false);
        }
    }
    program.functions[8].self_ns = 50000;
    return &program;
}

static void test_depth(void)
{
    struct model_program *program = make_deep();
    struct rules_drill drill = {.most = 200, .condition = {.kind = RULES_OVER, .limit = 10000}};
    const size_t windows = pass_to_end(program, &drill);
    CU_ASSERT_EQUAL(culprit_of(&drill), 8);
    CU_ASSERT_EQUAL(drill.way.count, 8); /* targets of pointers had probes before their callers */
    CU_ASSERT_TRUE(windows <= 10);
    CU_ASSERT_TRUE(drill.step_count <= 8);
    rules_drill_release(&drill);
}

/* Few probes are there at a time. */
static void test_bound(void)
{
    struct model_program *program = make_deep();
    struct rules_drill drill = {.most = 60, .condition = {.kind = RULES_ALWAYS}};
    size_t most = 0, windows = 0;
    for (; drill.state <= RULES_DRILL_LOOKS && windows < WINDOWS; windows++) {
        pass(program, &drill);
        most = count_probed(program) > most ? count_probed(program) : most;
    }
    CU_ASSERT_EQUAL(culprit_of(&drill), 8);
    CU_ASSERT_TRUE(most <= 60 + 11);
    rules_drill_release(&drill);
}

static void test_condition(void)
{
    struct model_program *program = make_deep();
    struct rules_drill drill = {.most = 200, .condition = {.kind = RULES_OVER, .limit = 1e9}};
    for (int i = 0; i < 5; i++)
        pass(program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_WAITS); /* it is not slow */
    CU_ASSERT_EQUAL(count_probed(program), 1);
    drill.is_forced = true;
    pass(program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_LOOKS);
    CU_ASSERT_EQUAL(count_probed(program), 11);
    for (int i = 0; i < 15; i++) /* not any more: probes go */
        pass(program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_WAITS);
    CU_ASSERT_EQUAL(count_probed(program), 1);
    rules_drill_release(&drill);
}

/* What is small loses its probe, and so does what is never called. */
static void test_narrow(void)
{
    static struct model_program program;
    memset(&program, 0, sizeof program);
    program.calls = 10;
    call(&program, 0, 1, false);
    call(&program, 0, 2, false);
    call(&program, 0, 3, false);
    program.functions[0].self_ns = 300;
    program.functions[1].self_ns = 10;
    program.functions[2].self_ns = 160;
    program.functions[3].self_ns = 260; /* the largest, and less than half of all */
    struct rules_drill drill = {.most = 200};
    pass_to_end(&program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_NOTHING);
    CU_ASSERT_FALSE(rules_drill_node_of(&drill, 1)->is_probed);
    CU_ASSERT_TRUE(rules_drill_node_of(&drill, 2)->is_probed);
    rules_drill_release(&drill);
    sprof_vec_release(&program.flows);
}

/* A function that is called from elsewhere, too, and one that its caller's callee calls. */
static void test_root_alone(void)
{
    static struct model_program program;
    memset(&program, 0, sizeof program);
    program.calls = 10;
    program.functions[0].self_ns = 100;
    struct rules_drill drill = {.most = 200};
    pass_to_end(&program, &drill);
    CU_ASSERT_EQUAL(culprit_of(&drill), 0); /* it calls nothing */
    rules_drill_release(&drill);
    memset(&drill, 0, sizeof drill);
    drill.most = 200;
    program.calls = 0;
    for (int i = 0; i < 5; i++)
        pass(&program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_WAITS); /* it is never called */
    rules_drill_release(&drill);
    sprof_vec_release(&program.flows);
}

static void test_errors(void)
{
    static struct model_program program;
    memset(&program, 0, sizeof program);
    program.calls = 10;
    for (uint32_t i = 0; i < 3; i++) {
        call(&program, i, i + 1, false);
        call(&program, i, i + 10, false);
        program.functions[i + 10].self_ns = 9000; /* slow, and no error */
        program.functions[i].fails = true;
    }
    program.functions[3].fails = true;
    program.functions[3].self_ns = 1;
    struct rules_drill drill = {.most = 200, .condition = {.kind = RULES_ERRORS, .limit = 1}};
    pass_to_end(&program, &drill);
    CU_ASSERT_EQUAL(culprit_of(&drill), 3);
    CU_ASSERT_EQUAL(drill.way.count, 4);
    rules_drill_release(&drill);
    sprof_vec_release(&program.flows);
}

static void test_observed(void)
{
    struct model_program *program = make_deep();
    struct rules_drill drill = {.most = 200, .observes = true};
    pass(program, &drill);
    CU_ASSERT_EQUAL(drill.state, RULES_DRILL_OBSERVED);
    CU_ASSERT_EQUAL(drill.steps.count, 10);
    CU_ASSERT_EQUAL(drill.steps.items[0].action, RULES_DRILL_WOULD_ADD);
    CU_ASSERT_EQUAL(count_probed(program), 1);
    rules_drill_release(&drill);
}

/* == Conditions == */

static void test_conditions(void)
{
    static const struct {
        const char *text;
        enum rules_condition_kind kind;
        double limit;
    } right[] = {{"10ms", RULES_OVER, 1e7},
                 {"self > 2us", RULES_SELF, 2000},
                 {"p99 > 1s", RULES_QUANTILE, 1e9},
                 {"errors > 1 %", RULES_ERRORS, 1},
                 {"errors>0.5%", RULES_ERRORS, 0.5},
                 {"calls/s > 1000", RULES_RATE, 1000},
                 {"3x", RULES_TIMES, 3},
                 {"2x siblings", RULES_SIBLINGS, 2},
                 {"cpu > 50 %", RULES_CPU, 50},
                 {"signal", RULES_SIGNAL, 0},
                 {" 10ms :^f$", RULES_OVER, 1e7}};
    static const char *const wrong[] = {
        "",   "10",    "ms",     "p99",      "p > 1ms", "p0 > 1ms", "self 1ms", "errors > 101 %",
        "1x", "10ms:", "10ms x", "signal 1", "-1ms",    "1e400s"};
    struct rules_condition condition;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        CU_ASSERT_EQUAL_FATAL(rules_condition_parse(&condition, right[i].text, NULL), 0);
        CU_ASSERT_EQUAL(condition.kind, right[i].kind);
        CU_ASSERT_DOUBLE_EQUAL(condition.limit, right[i].limit, 1e-6 * right[i].limit);
    }
    CU_ASSERT_STRING_EQUAL(condition.function, "^f$");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(rules_condition_parse(&condition, wrong[i], NULL), SPROF_EUSAGE);
}

static void test_measured(void)
{
    struct rules_window_calls calls = {.calls = 10,
                                       .failed = 1,
                                       .total_ns = 1000,
                                       .self_ns = 100,
                                       .quantile_ns = 400,
                                       .usual_ns = 50,
                                       .thread_ns = 300,
                                       .threads_ns = 100,
                                       .seconds = 2,
                                       .cpu_ns = 4000};
    static const struct {
        const char *text;
        double measured;
    } cases[] = {{"1ns", 100}, {"self > 1ns", 10}, {"p99 > 1ns", 400}, {"errors > 1%", 10},
                 {"3x", 2},    {"calls/s > 1", 5}, {"2x siblings", 3}, {"cpu > 20%", 25}};
    struct rules_condition condition;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL_FATAL(rules_condition_parse(&condition, cases[i].text, NULL), 0);
        CU_ASSERT_DOUBLE_EQUAL(rules_condition_measure(&condition, &calls), cases[i].measured,
                               1e-9);
        CU_ASSERT_EQUAL(rules_condition_holds(&condition, &calls),
                        strcmp("3x", cases[i].text) != 0);
    }
    calls.calls = 4; /* too few to say anything */
    CU_ASSERT_EQUAL_FATAL(rules_condition_parse(&condition, "1ns", NULL), 0);
    CU_ASSERT_FALSE(rules_condition_holds(&condition, &calls));
}

void sprof_suite_rules_drill(void);

void sprof_suite_rules_drill(void)
{
    CU_pSuite suite = CU_add_suite("rules/drill", NULL, NULL);
    CU_add_test(suite, "depth", test_depth);
    CU_add_test(suite, "bound", test_bound);
    CU_add_test(suite, "condition", test_condition);
    CU_add_test(suite, "narrow", test_narrow);
    CU_add_test(suite, "root alone", test_root_alone);
    CU_add_test(suite, "errors", test_errors);
    CU_add_test(suite, "observed", test_observed);
    CU_add_test(suite, "conditions", test_conditions);
    CU_add_test(suite, "measured", test_measured);
}
