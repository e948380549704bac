/* One comparison without signs says of each value what a rule's test says; and which calls are long
 * enough is written by the tracer, raised by the agent, and lowered again where rules wake. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

/* The reference: as numbers. */
static bool is_met(const struct probe_keep_test *test, int64_t value)
{
    return (value >= test->low && value <= test->high) != (test->is_outside != 0);
}

static bool is_met_quickly(const struct probe_keep_quick *quick, uint64_t value)
{
    return (value << quick->shift) - quick->low <= quick->span;
}

/* All values of a byte, with what else its register may hold. */
static void check_bytes(const struct probe_binding *binding, const struct probe_keep_test *test)
{
    struct probe_keep_quick quick = {0};
    const enum calls_keep_range range = calls_keep_compare(binding, test, &quick);
    unsigned met = 0, wrong = 0;
    for (unsigned bits = 0; bits < 256; bits++) {
        const int64_t value = binding->number == PROBE_SIGNED ? (int8_t)bits : (int64_t)bits;
        const bool wanted = is_met(test, value);
        met += wanted;
        if (range == CALLS_RANGE_SOME)
            wrong += is_met_quickly(&quick, bits | UINT64_C(0xabcdef00)) != wanted;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(range == CALLS_RANGE_NONE, met == 0);
    CU_ASSERT_EQUAL(range == CALLS_RANGE_ALL, met == 256);
}

static void test_bytes(void)
{
    static const int64_t bounds[] = {INT64_MIN, -1000, -129, -128, -127, -2,  -1,  0,    1,
                                     2,         126,   127,  128,  254,  255, 256, 1000, INT64_MAX};
    const size_t count = sizeof bounds / sizeof *bounds;
    for (int number = PROBE_SIGNED; number <= PROBE_UNSIGNED; number++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < count; k++)
                for (uint64_t outside = 0; outside < 2; outside++)
                    check_bytes(&(struct probe_binding){.number = (uint8_t)number,
                                                        .bytes = 1,
                                                        .word = PROBE_WORD_RAX},
                                &(struct probe_keep_test){
                                    .low = bounds[i], .high = bounds[k], .is_outside = outside});
}

static void test_words(void)
{
    const struct probe_binding is_signed = {.number = PROBE_SIGNED, .bytes = 8, .word = 2},
                               is_unsigned = {.number = PROBE_UNSIGNED, .bytes = 8, .word = 2};
    struct probe_keep_quick quick = {0};
    const struct probe_keep_test below = {.low = INT64_MIN, .high = -1},
                                 above = {.low = 7, .high = INT64_MAX};
    CU_ASSERT_EQUAL(calls_keep_compare(&is_signed, &below, &quick), CALLS_RANGE_SOME);
    CU_ASSERT_EQUAL(quick.word, 3);
    CU_ASSERT_TRUE(is_met_quickly(&quick, (uint64_t)-1) &&
                   is_met_quickly(&quick, (uint64_t)INT64_MIN));
    CU_ASSERT_FALSE(is_met_quickly(&quick, 0) || is_met_quickly(&quick, INT64_MAX));
    CU_ASSERT_EQUAL(calls_keep_compare(&is_unsigned, &below, &quick), CALLS_RANGE_NONE);
    CU_ASSERT_EQUAL(calls_keep_compare(&is_unsigned, &above, &quick), CALLS_RANGE_SOME);
    CU_ASSERT_TRUE(is_met_quickly(&quick, 7) && is_met_quickly(&quick, UINT64_MAX));
    CU_ASSERT_FALSE(is_met_quickly(&quick, 6));
}

/* Numbers with a fraction, and words beside the first ones, are compared elsewhere. */
static void test_others(void)
{
    const struct probe_keep_test test = {.low = 1, .high = 2};
    struct probe_keep_quick quick;
    CU_ASSERT_EQUAL(calls_keep_compare(&(struct probe_binding){.number = PROBE_DOUBLE, .bytes = 8},
                                       &test, &quick),
                    CALLS_RANGE_ALL);
    CU_ASSERT_EQUAL(
        calls_keep_compare(
            &(struct probe_binding){.number = PROBE_SIGNED, .bytes = 4, .word = PROBE_WORD_RDX},
            &test, &quick),
        CALLS_RANGE_ALL);
}

/* == Rules that wait == */

enum { FUNCTIONS = 3 };

static const struct made_way in_memory = {.has_agent = true};
static struct made made;
static struct plan_function functions[FUNCTIONS];

static int64_t least_of(uint32_t function)
{
    return atomic_load(&made.session.process.shared->keep_of.quick[function].least);
}

/* As the agent does when no rule is in force. */
static void raise_least(uint32_t function)
{
    struct probe_keep_quick *quick = &made.session.process.shared->keep_of.quick[function];
    atomic_fetch_or(&quick->lowered, 1);
    atomic_store(&quick->least, INT64_MAX);
}

/* Rule 0 waits, rule 1 does for load, rule 2 is for calls of 5 ticks. */
static void begin(void)
{
    made_begin_with(&made, &in_memory, functions, FUNCTIONS);
    struct probe_shared *shared = made.session.process.shared;
    const struct probe_keep_rule any = {.over = INT64_MIN, .self = INT64_MIN, .next = 1};
    shared->function_count = FUNCTIONS;
    for (size_t i = 0; i < 3; i++)
        shared->keep.rules[i] = any;
    shared->keep.rules[0].since = shared->keep.rules[1].since = UINT64_MAX;
    shared->keep.rules[1].rests_by_load = 1;
    shared->keep.rules[2].over = 5;
    atomic_store(&shared->keep.rules[0].taken, 1);
    atomic_store(&shared->keep.resting, 3);
}

/* No `least` that means all calls is ever written twice. */
static void test_lowest(void)
{
    begin();
    calls_keep_write(&made.session, 0, 1);
    const int64_t first = least_of(0);
    calls_keep_write(&made.session, 0, 1);
    CU_ASSERT_TRUE(first > INT64_MIN && first < INT32_MIN);
    CU_ASSERT_TRUE(least_of(0) > first && least_of(0) < INT32_MIN);
    calls_keep_write(&made.session, 1, 4);
    CU_ASSERT_EQUAL(least_of(1), 5);
    calls_keep_write(&made.session, 2, 2);
    CU_ASSERT_EQUAL(least_of(2), INT64_MAX); /* its rule rests by load */
    made_end(&made);
}

static void test_next(void)
{
    struct probe_shared *shared;
    begin();
    shared = made.session.process.shared;
    calls_keep_write(&made.session, 0, 1);
    calls_keep_write(&made.session, 1, 5);
    calls_keep_write(&made.session, 2, 4);
    const int64_t before = least_of(0), written = least_of(1);
    raise_least(0);
    raise_least(2);
    probe_keep_take_next(shared, 3);
    CU_ASSERT_EQUAL(atomic_load(&shared->keep.resting), 2);
    CU_ASSERT_EQUAL((uint32_t)atomic_load(&shared->keep.rules[0].taken), 0);
    CU_ASSERT_EQUAL(atomic_load(&shared->keep_functions), 3); /* others are not looked at */
    CU_ASSERT_TRUE(shared->keep.rules[0].since < UINT64_MAX);
    CU_ASSERT_TRUE(least_of(0) > before && least_of(0) < INT32_MIN);
    CU_ASSERT_EQUAL(least_of(1), written);   /* nothing had raised it */
    CU_ASSERT_EQUAL(least_of(2), INT64_MAX); /* of another rule */
    made_end(&made);
}

void sprof_suite_calls_keep_quick(void);

void sprof_suite_calls_keep_quick(void)
{
    CU_pSuite suite = CU_add_suite("calls/keep_quick", NULL, NULL);
    CU_add_test(suite, "bytes", test_bytes);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "others", test_others);
    CU_add_test(suite, "all calls", test_lowest);
    CU_add_test(suite, "the next call", test_next);
}
