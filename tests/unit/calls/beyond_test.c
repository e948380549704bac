/* Calls without memory of their own are added to the row of all other threads. */
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { FIRST, SECOND, NOT_CHOSEN, FUNCTIONS };

static struct made made;
static struct plan_function functions[FUNCTIONS];

static void begin(void)
{
    made_begin_with(&made, &in_memory, functions, FUNCTIONS);
    made.session.probes.items[NOT_CHOSEN].is_chosen = false;
    calls_take_time(&made.session);
    made.session.times.ns_per_tick = 1;
}

static void set(uint32_t function, uint64_t calls)
{
    atomic_store(&made.session.process.shared->beyond[function], calls);
}

static uint64_t counted(uint32_t function)
{
    return made.session.threads.others_figures[function].stat.counted;
}

/* Nothing is made for a program that has no such calls. */
static void test_none(void)
{
    begin();
    set(FIRST, 5); /* of an earlier trace */
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_PTR_NULL(made.session.memory.beyond);
    CU_ASSERT_PTR_NULL(made.session.threads.others_figures);
    made_end(&made);
}

static void test_added(void)
{
    begin();
    atomic_store(&made.session.process.shared->untracked, 1);
    set(FIRST, 5);
    set(NOT_CHOSEN, 8);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_EQUAL(counted(FIRST), 5);
    CU_ASSERT_EQUAL(counted(NOT_CHOSEN), 0);
    CU_ASSERT_TRUE(made.session.threads.others_changed);
    set(FIRST, 7);
    set(SECOND, 1);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_EQUAL(counted(FIRST), 7);
    CU_ASSERT_EQUAL(counted(SECOND), 1);
    CU_ASSERT_EQUAL(made.trace.memory.beyond_calls, 8);
    CU_ASSERT_EQUAL(made.trace.memory.beyond_functions, 2);
    CU_ASSERT_EQUAL(made.session.threads.others_figures[FIRST].stat.unlogged, 0);
    made.session.mode = TRACE_LOG;
    set(FIRST, 10);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_EQUAL(made.session.threads.others_figures[FIRST].stat.unlogged, 3);
    made_end(&made);
}

/* The program can write anything: counts that fall, or that no program reaches, add nothing. */
static void test_hostile(void)
{
    begin();
    atomic_store(&made.session.process.shared->has_ends, 1);
    set(FIRST, 5);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    set(FIRST, 3);
    set(SECOND, UINT64_MAX);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_EQUAL(counted(FIRST), 5);
    CU_ASSERT_EQUAL(counted(SECOND), 0);
    made_end(&made);
}

/* After a clear, what was counted before it does not come back. */
static void test_clear(void)
{
    begin();
    atomic_store(&made.session.process.shared->untracked, 1);
    set(FIRST, 5);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    set(FIRST, 6); /* counted, and not read yet */
    calls_beyond_clear(&made.session);
    CU_ASSERT_EQUAL(made.trace.memory.beyond_calls, 0);
    CU_ASSERT_FALSE(made.session.probes.items[FIRST].is_beyond);
    set(FIRST, 9);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_EQUAL(made.trace.memory.beyond_calls, 3);
    CU_ASSERT_EQUAL(made.trace.memory.beyond_functions, 1);
    made_end(&made);
}

/* Threads that share thread-local data are reported once. */
static void test_shared(void)
{
    begin();
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_FALSE(made_said(&made, "CLONE_VM"));
    atomic_store(&made.session.process.shared->sharing.threads, 1);
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_TRUE(made_said(&made, "CLONE_VM"));
    CU_ASSERT_EQUAL(calls_beyond_collect(&made.session), 0);
    CU_ASSERT_FALSE(made_said(&made, "CLONE_VM"));
    made_end(&made);
}

void sprof_suite_calls_beyond(void);

void sprof_suite_calls_beyond(void)
{
    CU_pSuite suite = CU_add_suite("calls/beyond", NULL, NULL);
    CU_add_test(suite, "none", test_none);
    CU_add_test(suite, "added", test_added);
    CU_add_test(suite, "counts that cannot be", test_hostile);
    CU_add_test(suite, "a clear", test_clear);
    CU_add_test(suite, "shared data", test_shared);
}
