/* How programs are left: by their back end, or not at all. */
#include "tests/unit/trace/made.h"

static unsigned taken_out;

static void take_out(struct trace_session *session)
{
    taken_out++;
    session->is_out = true;
}

static const struct probe_backend by_itself = {.take_out = take_out, .has_agent = true},
                                  embedded = {.take_out = take_out,
                                              .has_agent = true,
                                              .only_embedded = true};
static struct plan_function functions[1];

static void begin(struct made *made, const struct probe_backend *backend)
{
    taken_out = 0;
    made_begin_with(made, backend, functions, 1);
    made->session.probes.items[0].is_placed = true;
}

static void test_back_end(void)
{
    struct made made;
    begin(&made, &by_itself);
    CU_ASSERT_EQUAL(trace_detach(&made.session, NULL), 0);
    CU_ASSERT_EQUAL(taken_out, 1);
    CU_ASSERT_TRUE(made.session.is_out);
    made_end(&made);
}

/* Without an attachment nothing was put in. What is embedded is switched off in any case. */
static void test_leave(void)
{
    struct made made;
    begin(&made, &by_itself);
    trace_leave_process(&made.session);
    CU_ASSERT_EQUAL(taken_out, 0);
    made_end(&made);
    begin(&made, &embedded);
    trace_leave_process(&made.session);
    CU_ASSERT_EQUAL(taken_out, 1);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    made_end(&made);
}

/* Other tracers wait for programs whose trace is about to end; one without memory is left out. */
static void test_owner_end(void)
{
    struct made made, other;
    begin(&made, &by_itself);
    begin(&other, &by_itself);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.trace.programs, &other.session.probing), 0);
    struct probe_shared *shared = other.session.process.shared;
    trace_owner_end(&made.session, true);
    CU_ASSERT_EQUAL(made.session.process.shared->owner.is_ending, 1);
    CU_ASSERT_EQUAL(shared->owner.is_ending, 1);
    other.session.process.shared = NULL;
    trace_owner_end(&made.session, false);
    CU_ASSERT_EQUAL(made.session.process.shared->owner.is_ending, 0);
    CU_ASSERT_EQUAL(shared->owner.is_ending, 1);
    other.session.process.shared = shared;
    made_end(&other);
    made_end(&made);
}

/* If the process cannot be stopped, the probes are off and remain in the list of what to take out.
 */
static void test_process_is_gone(void)
{
    static const struct probe_backend injected = {.has_agent = true, .borrows = true};
    struct sprof_error error = {0};
    struct made made;
    begin(&made, &injected);
    made.session.process.pid = 0x3fffffff;
    atomic_store(&made.session.process.shared->tiers[0], PROBE_FULL);
    CU_ASSERT_NOT_EQUAL(trace_detach(&made.session, &error), 0);
    CU_ASSERT(*error.message);
    CU_ASSERT_EQUAL(made_tier(&made, 0), PROBE_OFF);
    CU_ASSERT_TRUE(made.session.probes.items[0].is_placed);
    CU_ASSERT_FALSE(made.session.is_out);
    made_end(&made);
}

void sprof_suite_trace_detach(void);

void sprof_suite_trace_detach(void)
{
    CU_pSuite suite = CU_add_suite("trace/detach", NULL, NULL);
    CU_add_test(suite, "by the back end", test_back_end);
    CU_add_test(suite, "leaving a process", test_leave);
    CU_add_test(suite, "the owner's end", test_owner_end);
    CU_add_test(suite, "a process that is gone", test_process_is_gone);
}
