/* One comparison without signs says of each value what a rule's test says. */
#include "trace/figures/keep_quick.h"

#include <CUnit/CUnit.h>

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
    const enum trace_keep_range range = trace_keep_compare(binding, test, &quick);
    unsigned met = 0, wrong = 0;
    for (unsigned bits = 0; bits < 256; bits++) {
        const int64_t value = binding->number == PROBE_SIGNED ? (int8_t)bits : (int64_t)bits;
        const bool wanted = is_met(test, value);
        met += wanted;
        if (range == TRACE_RANGE_SOME)
            wrong += is_met_quickly(&quick, bits | UINT64_C(0xabcdef00)) != wanted;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(range == TRACE_RANGE_NONE, met == 0);
    CU_ASSERT_EQUAL(range == TRACE_RANGE_ALL, met == 256);
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
    CU_ASSERT_EQUAL(trace_keep_compare(&is_signed, &below, &quick), TRACE_RANGE_SOME);
    CU_ASSERT_EQUAL(quick.word, 3);
    CU_ASSERT_TRUE(is_met_quickly(&quick, (uint64_t)-1) &&
                   is_met_quickly(&quick, (uint64_t)INT64_MIN));
    CU_ASSERT_FALSE(is_met_quickly(&quick, 0) || is_met_quickly(&quick, INT64_MAX));
    CU_ASSERT_EQUAL(trace_keep_compare(&is_unsigned, &below, &quick), TRACE_RANGE_NONE);
    CU_ASSERT_EQUAL(trace_keep_compare(&is_unsigned, &above, &quick), TRACE_RANGE_SOME);
    CU_ASSERT_TRUE(is_met_quickly(&quick, 7) && is_met_quickly(&quick, UINT64_MAX));
    CU_ASSERT_FALSE(is_met_quickly(&quick, 6));
}

/* Numbers with a fraction, and words beside the first ones, are compared elsewhere. */
static void test_others(void)
{
    const struct probe_keep_test test = {.low = 1, .high = 2};
    struct probe_keep_quick quick;
    CU_ASSERT_EQUAL(trace_keep_compare(&(struct probe_binding){.number = PROBE_DOUBLE, .bytes = 8},
                                       &test, &quick),
                    TRACE_RANGE_ALL);
    CU_ASSERT_EQUAL(
        trace_keep_compare(
            &(struct probe_binding){.number = PROBE_SIGNED, .bytes = 4, .word = PROBE_WORD_RDX},
            &test, &quick),
        TRACE_RANGE_ALL);
}

void sprof_suite_trace_keep_quick(void);

void sprof_suite_trace_keep_quick(void)
{
    CU_pSuite suite = CU_add_suite("trace/keep_quick", NULL, NULL);
    CU_add_test(suite, "bytes", test_bytes);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "others", test_others);
}
