/* Drill-downs from their roots to an answer, by call paths that the test writes as the agent does.
 */
#include "tests/unit/trace/drilled.h"

static struct drilled drilled;

static struct rules_drill *drill(void)
{
    return &drilled.drilling->drills[0];
}

static void begin(void)
{
    struct sprof_error error = {0};
    drilled_begin(&drilled);
    CU_ASSERT_EQUAL_FATAL(trace_drilling_probes(&drilled.made.session, 0, &error), 0);
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&drilled.made.session.probing, &error), 0);
    probing_switch(&drilled.made.session.probing);
    atomic_store(&drilled.made.session.process.shared->slabs[0].tid, (uint32_t)getpid());
    atomic_store(&drilled.made.session.process.shared->slabs[0].state, PROBE_SLAB_TAKEN);
}

/* == Roots == */

static void test_no_drill_down(void)
{
    static struct made made;
    struct sprof_str answer = {0};
    struct sprof_error error = {0};
    made_begin(&made, &drilled_backend, 1);
    CU_ASSERT_EQUAL(trace_drilling_begin(&made.session, NULL), 0);
    CU_ASSERT_PTR_NULL(made.trace.drilling);
    CU_ASSERT_PTR_NULL(made.trace.events.thread_ends);
    CU_ASSERT_EQUAL(trace_drilling_probes(&made.session, 0, &error), 0);
    CU_ASSERT_PTR_NULL(made.session.below);
    CU_ASSERT_EQUAL(trace_drilling_serve(&made.session), 0);
    CU_ASSERT_EQUAL(trace_drilling_finish(&made.session), 0);
    CU_ASSERT_EQUAL(trace_drilling_begin_phases(&made.session, &error), 0);
    CU_ASSERT_PTR_NULL(trace_drill_answer(&made.session));
    CU_ASSERT_EQUAL(trace_drilling_widen(&made.session, ".", &answer, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--adaptive"));
    CU_ASSERT_EQUAL(trace_drilling_reload(&made.session, &answer, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--config"));
    trace_drilling_free(NULL);
    sprof_str_release(&answer);
    made_end(&made);
}

/* Each chosen function is a root, once, with the last condition that fits it. */
static void test_roots(void)
{
    static const struct rules_condition conditions[] = {
        {.kind = RULES_OVER, .limit = 1},
        {.kind = RULES_RATE, .limit = 2, .function = "^ro"},
        {.kind = RULES_SELF, .limit = 3, .function = "^work$"}};
    struct sprof_error error = {0};
    drilled_begin(&drilled);
    struct trace_session *session = &drilled.made.session;
    session->options.drill.conditions = conditions;
    session->options.drill.condition_count = 3;
    session->options.drill.uncalled = true;
    session->probes.items[DRILLED_WORK].is_chosen = true;
    session->probes.items[DRILLED_BIG].is_chosen = true;
    CU_ASSERT_EQUAL(trace_drilling_probes(session, 0, &error), 0);
    CU_ASSERT_EQUAL(trace_drilling_probes(session, DRILLED_SLOW, &error), 0);
    CU_ASSERT_EQUAL_FATAL(drilled.drilling->reader.root_count, 3);
    CU_ASSERT_EQUAL(drilled.drilling->drills[0].condition.kind, RULES_RATE);
    CU_ASSERT_EQUAL(drilled.drilling->drills[1].condition.kind, RULES_OVER); /* of big */
    CU_ASSERT_EQUAL(drilled.drilling->drills[2].condition.kind, RULES_SELF);
    CU_ASSERT_TRUE(drilled.drilling->drills[2].keeps_uncalled);
    CU_ASSERT_FALSE(drilled.drilling->drills[2].observes);
    drilled_end(&drilled);
}

static void test_bad_condition(void)
{
    static const struct rules_condition condition = {.kind = RULES_OVER, .function = "(["};
    struct sprof_error error = {0};
    drilled_begin(&drilled);
    drilled.made.session.options.drill.conditions = &condition;
    drilled.made.session.options.drill.condition_count = 1;
    CU_ASSERT_EQUAL(trace_drilling_probes(&drilled.made.session, 0, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "(["));
    drilled_end(&drilled);
}

static void test_too_many_roots(void)
{
    enum { MANY = TRACE_DRILL_ROOTS + 1 };
    static struct plan_function functions[MANY];
    static struct made made;
    struct sprof_error error = {0};
    made_begin_with(&made, &drilled_backend, functions, MANY);
    made.session.options.drill.adaptive = true;
    CU_ASSERT_EQUAL_FATAL(trace_drilling_begin(&made.session, &error), 0);
    made.session.probes.items[0].is_chosen = false;
    CU_ASSERT_EQUAL(trace_drilling_probes(&made.session, 0, &error), 0);
    CU_ASSERT_EQUAL(made.trace.drilling->reader.root_count, TRACE_DRILL_ROOTS);
    made.session.probes.items[0].is_chosen = true;
    CU_ASSERT_EQUAL(trace_drilling_probes(&made.session, 0, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "more than 32 functions"));
    trace_below_program_free(made.session.below);
    trace_drilling_free(made.trace.drilling);
    made_end(&made);
}

/* == Windows == */

/* So many calls of root have ended, and took so much itself; of work below it, where it is probed.
 */
static void call(uint64_t calls, int64_t self, int64_t below)
{
    made_path(&drilled.made, 1, 0, DRILLED_ROOT, calls, self);
    if (below)
        made_path(&drilled.made, 2, 1, DRILLED_WORK, calls, below);
    *made_stat(&drilled.made, DRILLED_ROOT) =
        (struct probe_stat){.calls = calls, .ended = calls, .self = self, .total = self + below};
}

/* The window is over. */
static void end_window(void)
{
    drilled.drilling->next_ns = 0;
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
}

static bool is_drilled(uint32_t function)
{
    return drilled.made.session.probes.items[function].is_drilled;
}

/* root calls work, which takes all the time. */
static void test_culprit(void)
{
    begin();
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0); /* the first one begins */
    CU_ASSERT(drilled.drilling->window_ns > 0);
    end_window(); /* without calls nothing is decided */
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_WAITS);
    call(10, 1000, 0);
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0); /* not over yet */
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_WAITS);
    end_window();
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_LOOKS);
    CU_ASSERT_TRUE(is_drilled(DRILLED_WORK) && is_drilled(DRILLED_TINY));
    CU_ASSERT_FALSE(is_drilled(DRILLED_POINTED) || is_drilled(DRILLED_HIDDEN));
    CU_ASSERT_EQUAL(made_tier(&drilled.made, DRILLED_WORK), PROBE_FULL);
    CU_ASSERT_TRUE(made_said(&drilled.made, "4 probes below root: work, slow, big, tiny;"));
    call(30, 1100, 90000);
    end_window();
    CU_ASSERT_TRUE(is_drilled(DRILLED_POINTED)); /* work calls by a pointer */
    call(50, 1200, 180000);
    end_window();
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_FOUND);
    CU_ASSERT_PTR_NOT_NULL_FATAL(trace_drill_answer(&drilled.made.session));
    CU_ASSERT_PTR_NOT_NULL(strstr(trace_drill_answer(&drilled.made.session), "culprit: work, "));
    CU_ASSERT_TRUE(drilled.drilling->has_phases);
    CU_ASSERT_FALSE(drilled.made.trace.ends); /* a command goes on */
    drilled_end(&drilled);
}

/* A trace of a process without a time limit ends with the answer; one that waits does nothing. */
static void test_ends_with_answer(void)
{
    begin();
    drilled.made.session.options.pid = getpid();
    drilled.made.session.options.drill.observe = drill()->observes = true;
    drilled.made.session.paused = true;
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    CU_ASSERT_EQUAL(drilled.drilling->window_ns, 0);
    drilled.made.session.paused = false;
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    call(10, 1000, 0);
    CU_ASSERT_FALSE(drilled.made.trace.ends);
    end_window();
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_OBSERVED);
    CU_ASSERT_FALSE(is_drilled(DRILLED_WORK)); /* probes are only listed */
    CU_ASSERT_TRUE(made_said(&drilled.made, "4 probes would be added below root"));
    CU_ASSERT_PTR_NOT_NULL(strstr(trace_drill_answer(&drilled.made.session),
                                  "would be added, in this order:\n  work\n  slow\n"));
    CU_ASSERT_TRUE(drilled.made.trace.ends);
    drilled_end(&drilled);
}

/* What was measured while probes were switched belongs to no window. */
static void test_window_begins_with_nothing(void)
{
    begin();
    call(1000, 100000, 0);
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    CU_ASSERT_EQUAL(drilled.drilling->reader.below[0].calls, 0);
    call(1003, 100030, 0);
    end_window();
    CU_ASSERT_EQUAL(drilled.drilling->reader.below[0].has_calls, true);
    CU_ASSERT_EQUAL_FATAL(drilled.drilling->reader.below[0].usual.count, 0); /* of three calls */
    drilled_end(&drilled);
}

static void test_uncalled(void)
{
    begin();
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    end_window();
    CU_ASSERT_FALSE(made_said(&drilled.made, "has not been called"));
    drilled.drilling->begun_ns -= UINT64_C(3000000000);
    end_window();
    CU_ASSERT_TRUE(made_said(&drilled.made, "root has not been called yet"));
    end_window();
    CU_ASSERT_FALSE(made_said(&drilled.made, "has not been called"));
    CU_ASSERT_EQUAL(trace_drilling_finish(&drilled.made.session), 0);
    CU_ASSERT_STRING_EQUAL(trace_drill_answer(&drilled.made.session),
                           "root was not called: a drill-down begins with its calls\n");
    drilled_end(&drilled);
}

/* A program that comes later gets the probes that the drill-down has added so far. */
static void test_later_program(void)
{
    static struct made later;
    struct sprof_error error = {0};
    begin();
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    call(10, 1000, 0);
    end_window();
    made_begin(&later, &drilled_backend, DRILLED_FUNCTIONS);
    drilled_file(&drilled, &later.session);
    later.session.trace = &drilled.made.trace;
    CU_ASSERT_EQUAL(trace_drilling_probes(&later.session, 0, &error), 0);
    CU_ASSERT_EQUAL(drilled.drilling->reader.root_count, 1);
    CU_ASSERT_TRUE(later.session.probes.items[DRILLED_WORK].is_drilled);
    CU_ASSERT_FALSE(later.session.probes.items[DRILLED_ROOT].is_drilled);
    CU_ASSERT_FALSE(later.session.probes.items[DRILLED_POINTED].is_drilled);
    trace_below_program_free(later.session.below);
    later.session.trace = &later.trace;
    made_end(&later);
    drilled_end(&drilled);
}

/* == By hand == */

static int refuse(void *context, struct trace_options *options, struct sprof_error *error)
{
    (void)context;
    (void)options;
    return sprof_error_set(error, SPROF_EFORMAT, 0, "line 3");
}

static int take_condition(void *context, struct trace_options *options, struct sprof_error *error)
{
    (void)error;
    options->drill.conditions = context;
    options->drill.condition_count = 1;
    options->drill.uncalled = true;
    return 0;
}

static void test_widen(void)
{
    struct sprof_str answer = {0};
    struct sprof_error error = {0};
    begin();
    drill()->condition = (struct rules_condition){.kind = RULES_SIGNAL};
    CU_ASSERT_EQUAL(trace_drilling_widen(&drilled.made.session, "^work$", &answer, &error),
                    SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "finds none of the 1 root "));
    CU_ASSERT_EQUAL(trace_drilling_widen(&drilled.made.session, "([", &answer, &error),
                    SPROF_EUSAGE);
    CU_ASSERT_FALSE(drill()->is_forced);
    drill()->state = RULES_DRILL_NOTHING;
    drilled.drilling->is_reported[0] = true;
    sprof_str_release(&answer);
    CU_ASSERT_EQUAL(trace_drilling_widen(&drilled.made.session, "^root$", &answer, &error), 0);
    CU_ASSERT_STRING_EQUAL(answer.text, "the drill-down of 1 root begins with the next second");
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_WAITS);
    CU_ASSERT_FALSE(drilled.drilling->is_reported[0]);
    CU_ASSERT_EQUAL(trace_drilling_serve(&drilled.made.session), 0);
    call(1, 10, 0);
    end_window(); /* whatever the condition */
    CU_ASSERT_EQUAL(drill()->state, RULES_DRILL_LOOKS);
    CU_ASSERT_FALSE(drill()->is_forced);
    sprof_str_release(&answer);
    drilled_end(&drilled);
}

static void test_reload(void)
{
    struct rules_condition condition = {.kind = RULES_CPU, .limit = 7};
    struct sprof_str answer = {0};
    struct sprof_error error = {0};
    begin();
    struct trace_drill_options *options = &drilled.made.session.options.drill;
    options->reload = refuse;
    CU_ASSERT_EQUAL(trace_drilling_reload(&drilled.made.session, &answer, &error), SPROF_EFORMAT);
    CU_ASSERT_STRING_EQUAL(error.message, "line 3");
    CU_ASSERT_EQUAL(drill()->condition.kind, RULES_ALWAYS);
    options->reload = take_condition;
    options->reload_context = &condition;
    CU_ASSERT_EQUAL(trace_drilling_reload(&drilled.made.session, &answer, &error), 0);
    CU_ASSERT_EQUAL(drill()->condition.kind, RULES_CPU);
    CU_ASSERT_EQUAL(drill()->condition.limit, 7);
    CU_ASSERT_TRUE(drill()->keeps_uncalled);
    sprof_str_release(&answer);
    drilled_end(&drilled);
}

void sprof_suite_trace_drilling(void);
void sprof_suite_trace_drilling(void)
{
    CU_pSuite suite = CU_add_suite("trace/drilling", NULL, NULL);
    CU_add_test(suite, "no drill-down", test_no_drill_down);
    CU_add_test(suite, "roots", test_roots);
    CU_add_test(suite, "a condition for no expression", test_bad_condition);
    CU_add_test(suite, "too many roots", test_too_many_roots);
    CU_add_test(suite, "the culprit", test_culprit);
    CU_add_test(suite, "the trace ends with the answer", test_ends_with_answer);
    CU_add_test(suite, "a window begins with nothing", test_window_begins_with_nothing);
    CU_add_test(suite, "a root without calls", test_uncalled);
    CU_add_test(suite, "a later program", test_later_program);
    CU_add_test(suite, "widen", test_widen);
    CU_add_test(suite, "reload", test_reload);
}
