/* The order of policies, and which of them run in each call and which in each round. */
#include "tests/unit/trace/made.h"
#include "trace/drill/drilling.h"
#include "trace/policies.h"

static struct made made;
static struct plan_function functions[2];
static int governed; /* calls of the back end */
static int govern_result;

static int govern(struct trace_session *session)
{
    (void)session;
    governed++;
    return govern_result;
}

static const struct probe_backend governs = {
    .source = "in memory", .has_agent = true, .govern = govern};
static const struct probe_backend plain = {.source = "in memory", .has_agent = true};

static void begin(const struct probe_backend *backend)
{
    struct sprof_error error = {0};
    made_begin_with(&made, backend, functions, 2);
    made.session.options.rest_ns = TRACE_NEVER;
    governed = 0;
    govern_result = 0;
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&made.session.probing, &error), 0);
}

static void end(void)
{
    calls_warnings_free(&made.session.calls);
    made_end(&made);
}

/* The back end's limit belongs to rounds. */
static void test_rounds(void)
{
    begin(&governs);
    CU_ASSERT_EQUAL(trace_policies_serve(&made.session, false), 0);
    CU_ASSERT_EQUAL(governed, 0);
    CU_ASSERT_EQUAL(trace_policies_serve(&made.session, true), 0);
    CU_ASSERT_EQUAL(governed, 1);
    end();
}

/* What a policy refuses ends the round: later ones do not run on what it left. */
static void test_failure(void)
{
    begin(&governs);
    made.session.options.drill.adaptive = true;
    CU_ASSERT_EQUAL_FATAL(trace_drilling_begin(&made.session, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(trace_drilling_probes(&made.session, 0, NULL), 0);
    govern_result = SPROF_ENOMEM;
    CU_ASSERT_EQUAL(trace_policies_serve(&made.session, true), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(made.trace.drilling->window_ns, 0); /* drill-downs come after it */
    govern_result = 0;
    CU_ASSERT_EQUAL(trace_policies_serve(&made.session, true), 0);
    CU_ASSERT_NOT_EQUAL(made.trace.drilling->window_ns, 0);
    trace_below_program_free(made.session.below);
    trace_drilling_free(made.trace.drilling);
    end();
}

/* New probes get limits and roots before they are on. The first refusal ends it. */
static void test_new_probes(void)
{
    static const struct trace_limit over = {.ns = 500};
    static const struct trace_limit bad = {.ns = 500, .function = "(["};
    struct sprof_error error = {0};
    begin(&plain);
    made.trace.clock.tick_ns = 1;
    made.session.options.warn = (struct trace_warn_options){.over = &over, .over_count = 1};
    made.session.options.drill.adaptive = true;
    CU_ASSERT_EQUAL_FATAL(trace_drilling_begin(&made.session, &error), 0);
    CU_ASSERT_EQUAL(trace_policies_probes_added(&made.session, 1, &error), 0);
    CU_ASSERT_EQUAL(made.session.process.shared->warnings.slow[0], 0);
    CU_ASSERT_NOT_EQUAL(made.session.process.shared->warnings.slow[1], 0);
    CU_ASSERT_EQUAL(made.trace.drilling->reader.root_count, 1);
    made.session.options.warn.over = &bad;
    CU_ASSERT_EQUAL(trace_policies_probes_added(&made.session, 0, &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(made.trace.drilling->reader.root_count, 1);
    trace_below_program_free(made.session.below);
    trace_drilling_free(made.trace.drilling);
    end();
}

void sprof_suite_trace_policies(void);
void sprof_suite_trace_policies(void)
{
    CU_pSuite suite = CU_add_suite("trace/policies", NULL, NULL);
    CU_add_test(suite, "rounds", test_rounds);
    CU_add_test(suite, "a failure", test_failure);
    CU_add_test(suite, "new probes", test_new_probes);
}
