/* Which request a call belongs to, where --request names functions. */
#include "calls/calls.h"
#include "calls/keep_requests.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { SERVE, RETRY, PARSE, LOG, FUNCTIONS };

static struct made made;
static struct plan_function functions[FUNCTIONS];
static struct rules_capture requests;
static struct calls_thread *thread;

/* serve and retry are requests. */
static void begin(void)
{
    static const char *const names[] = {"serve", "retry", "parse", "log"};
    static char expression[] = "^(serve|retry)$";
    struct sprof_error error = {0};
    made_begin(&made, &in_memory, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct plan_function){
            .name = names[i], .linkage_name = names[i], .start = 0x100 * (i + 1)};
    made_file(&made, "/app/program", 0, functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&made, (struct probing_probe){
                              .function = &functions[i], .tier = PROBE_FULL, .is_chosen = true});
    requests = (struct rules_capture){.text = expression, .function = expression};
    made.session.options.kept.requests_of = &requests;
    CU_ASSERT_EQUAL_FATAL(calls_requests_begin(&made.session, 0, &error), 0);
    thread = made.session.threads.of_slab[0];
}

static void end(void)
{
    calls_requests_release(&made.session);
    made_end(&made);
}

/* Opens a call with a row, below the call with that row. */
static struct calls_open_caller *open_call(uint32_t row, uint32_t caller, uint32_t function)
{
    const struct calls_open_caller call = {
        .row = row, .caller_row = caller, .function = function, .is_known = true};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&thread->callers, call), 0);
    return &thread->callers.items[thread->callers.count - 1];
}

/* The request of a call that ends, with this row, below the call with that one. */
static uint64_t request_of(uint32_t function, uint32_t row, uint32_t caller)
{
    const struct calls_open_caller call = {
        .row = row, .caller_row = caller, .function = function, .is_known = true};
    return calls_requests_of(&made.session, thread, &call, function, caller);
}

static void test_which_functions(void)
{
    begin();
    CU_ASSERT_TRUE(calls_requests_is(&made.session, SERVE));
    CU_ASSERT_TRUE(calls_requests_is(&made.session, RETRY));
    CU_ASSERT_FALSE(calls_requests_is(&made.session, PARSE));
    CU_ASSERT_FALSE(calls_requests_is(&made.session, FUNCTIONS)); /* a number of the program's */
    CU_ASSERT_FALSE(calls_requests_by_value(&made.session.options));
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    end();
}

static void test_unfound(void)
{
    static char none[] = "^none$", bad[] = "([";
    struct sprof_error error = {0};
    begin();
    requests.function = none;
    made.session.kept.requests.count = 0;
    CU_ASSERT_EQUAL(calls_requests_begin(&made.session, 0, &error), 0);
    CU_ASSERT_TRUE(made_said(&made, "--request '^none$' finds none"));
    made.session.kept.requests.count = 0;
    CU_ASSERT_EQUAL(calls_requests_begin(&made.session, 1, &error), 0); /* of a later library */
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    requests.function = bad;
    CU_ASSERT_EQUAL(calls_requests_check(&made.session.options, &error), SPROF_EUSAGE);
    made.session.options.kept.requests_of = NULL;
    CU_ASSERT_EQUAL(calls_requests_check(&made.session.options, &error), 0);
    end();
}

/* The innermost call that is a request, or none. Callers note it. */
static void test_innermost(void)
{
    begin();
    open_call(11, 0, LOG);
    open_call(12, 11, SERVE);
    open_call(13, 12, PARSE);
    CU_ASSERT_EQUAL(request_of(PARSE, 14, 13), 12);
    CU_ASSERT_TRUE(thread->callers.items[2].has_request && thread->callers.items[1].has_request);
    CU_ASSERT_EQUAL(thread->callers.items[2].request, 12);
    CU_ASSERT_FALSE(thread->callers.items[0].has_request); /* it is above the request */
    CU_ASSERT_EQUAL(request_of(LOG, 15, 11), 0);
    CU_ASSERT_EQUAL(request_of(RETRY, 16, 13), 16); /* a request in a request */
    open_call(16, 13, RETRY);
    CU_ASSERT_EQUAL(request_of(LOG, 17, 16), 16);
    CU_ASSERT_EQUAL(request_of(LOG, 18, 0), 0); /* no caller has a row */
    CU_ASSERT_EQUAL(request_of(LOG, 19, 99), 0);
    end();
}

/* What the agent has not said of a caller yet may be a request: nothing is noted. */
static void test_unknown_caller(void)
{
    begin();
    open_call(12, 0, SERVE);
    open_call(13, 12, PARSE);
    thread->callers.items[0].is_known = false;
    CU_ASSERT_EQUAL(request_of(LOG, 14, 13), 0);
    CU_ASSERT_FALSE(thread->callers.items[1].has_request);
    thread->callers.items[0].is_known = true;
    CU_ASSERT_EQUAL(request_of(LOG, 15, 13), 12);
    end();
}

/* Rows come from the program's memory. Calls that are their own callers end the search. */
static void test_circle(void)
{
    begin();
    open_call(12, 13, LOG);
    open_call(13, 12, PARSE);
    CU_ASSERT_EQUAL(request_of(LOG, 14, 13), 0);
    CU_ASSERT_EQUAL(request_of(LOG, 15, 12), 0);
    end();
}

/* The search goes both ways from any place, also from behind the list. */
static void test_open(void)
{
    begin();
    for (uint32_t row = 1; row <= 5; row++)
        open_call(10 * row, 0, LOG);
    for (size_t near = 0; near <= 5; near++)
        for (uint32_t row = 1; row <= 5; row++)
            CU_ASSERT_PTR_EQUAL(calls_requests_open(thread, near, 10 * row),
                                &thread->callers.items[row - 1]);
    CU_ASSERT_PTR_NULL(calls_requests_open(thread, 2, 15));
    CU_ASSERT_PTR_NULL(calls_requests_open(thread, 2, 0));
    thread->callers.count = 0;
    CU_ASSERT_PTR_NULL(calls_requests_open(thread, 0, 10));
    end();
}

void sprof_suite_calls_keep_requests(void);
void sprof_suite_calls_keep_requests(void)
{
    CU_pSuite suite = CU_add_suite("calls/keep_requests", NULL, NULL);
    CU_add_test(suite, "which functions", test_which_functions);
    CU_add_test(suite, "functions that are not found", test_unfound);
    CU_add_test(suite, "the innermost request", test_innermost);
    CU_add_test(suite, "an unknown caller", test_unknown_caller);
    CU_add_test(suite, "a circle", test_circle);
    CU_add_test(suite, "open calls", test_open);
}
