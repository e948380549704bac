#include "sampler/stack_ends.h"

#include "sampler/sampler.h"

#include <CUnit/CUnit.h>

enum { TID = 7, MOST = 1 << 20 };

static const uint64_t low = 0x7f0000000000, end = 0x7f0000100000, slice = 0x10000;

static size_t beyond(const struct stack_ends *ends, uint64_t pointer, bool *known)
{
    const struct sampler_stack stack = {
        .tid = TID, .pointer = pointer, .asked = slice, .captured = slice};
    return sampler_stack_ends_beyond(ends, &stack, MOST, known);
}

static enum sampling_end kind(const struct stack_ends *ends)
{
    const struct sampling_stack *stack = sampler_stack_ends_find(ends, TID, low);
    return stack ? (enum sampling_end)stack->end_is : 0;
}

static void learn(struct stack_ends *ends, uint64_t pointer, enum model_stack_extent_kind kind,
                  uint64_t address)
{
    sampler_stack_ends_learn(ends, TID, pointer, pointer + slice,
                             (struct model_stack_extent){.kind = kind, .end = address});
}

static void test_unknown_stacks_are_copied_as_far_as_they_go(void)
{
    struct stack_ends ends = {0};
    bool known = true;
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), MOST); /* closed */
    CU_ASSERT_FALSE(known);
    CU_ASSERT_EQUAL_FATAL(sampler_stack_ends_open(&ends, -1), 0);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), MOST);
    CU_ASSERT_FALSE(known);
    sampler_stack_ends_close(&ends);
}

static void test_mappings_bound_copies(void)
{
    struct stack_ends ends;
    bool known;
    CU_ASSERT_EQUAL_FATAL(sampler_stack_ends_open(&ends, -1), 0);
    sampler_stack_ends_set_mapping(&ends, TID, low, end);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), end - low - slice);
    CU_ASSERT_TRUE(known);
    CU_ASSERT_EQUAL(beyond(&ends, end - slice / 2, &known), 0); /* the slice has all there is */
    CU_ASSERT_TRUE(known);
    beyond(&ends, end, &known); /* another stack */
    CU_ASSERT_FALSE(known);
    beyond(&ends, low - 8, &known);
    CU_ASSERT_FALSE(known);
    CU_ASSERT_PTR_NULL(
        sampler_stack_ends_find(&ends, TID + SAMPLING_STACKS, low)); /* the same slot */
    sampler_stack_ends_forget(&ends, TID + SAMPLING_STACKS);
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_MAPPING);
    sampler_stack_ends_forget(&ends, TID);
    CU_ASSERT_EQUAL(kind(&ends), 0);
    sampler_stack_ends_close(&ends);
}

/* Walks know better than mappings, of which a stack may be a small part; but one that ends within
 * its slice says nothing against a known end that is near. */
static void test_walks_teach(void)
{
    struct stack_ends ends;
    bool known;
    CU_ASSERT_EQUAL_FATAL(sampler_stack_ends_open(&ends, -1), 0);
    sampler_stack_ends_set_mapping(&ends, TID, low, end);
    learn(&ends, low, MODEL_STACK_ENDS, low + slice + 0x3000);
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_LEARNED);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), 0x3000);
    learn(&ends, low, MODEL_STACK_SHALLOW, 0);
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_LEARNED);
    learn(&ends, low, MODEL_STACK_ENDS, low + slice + 0x40000);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), 0x40000);
    learn(&ends, low, MODEL_STACK_SHALLOW, 0);
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_SHALLOW);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), 0);
    learn(&ends, low, MODEL_STACK_ENDS, low + slice + 0x2000); /* it has grown */
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), 0x2000);
    sampler_stack_ends_set_mapping(&ends, TID, low, end);
    learn(&ends, low, MODEL_STACK_UNKNOWN, 0); /* no root: what lies above is of no use */
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_SHALLOW);
    sampler_stack_ends_set_mapping(&ends, TID, low, end);
    learn(&ends, end + slice, MODEL_STACK_INTERRUPTED, 0); /* the handler's stack is another one */
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_MAPPING);
    CU_ASSERT_EQUAL(ends.slots[TID].low, low);
    sampler_stack_ends_close(&ends);
}

/* What libc and the kernel have set up ends where it ends. */
static void test_exact_ends_stay(void)
{
    struct stack_ends ends;
    bool known;
    CU_ASSERT_EQUAL_FATAL(sampler_stack_ends_open(&ends, -1), 0);
    sampler_stack_ends_set_mapping(&ends, TID, low, end);
    ends.slots[TID].end_is = SAMPLING_END_EXACT;
    learn(&ends, low, MODEL_STACK_SHALLOW, 0);
    learn(&ends, low, MODEL_STACK_ENDS, low + slice + 0x2000);
    learn(&ends, low, MODEL_STACK_UNKNOWN, 0);
    CU_ASSERT_EQUAL(beyond(&ends, low, &known), end - low - slice);
    learn(&ends, low, MODEL_STACK_ELSEWHERE, 0);
    CU_ASSERT_EQUAL(kind(&ends), SAMPLING_END_ELSEWHERE);
    CU_ASSERT_EQUAL(beyond(&ends, end + slice, &known), 0); /* wherever it is */
    CU_ASSERT_TRUE(known);
    sampler_stack_ends_close(&ends);
}

void sprof_suite_sampler_stack_ends(void);
void sprof_suite_sampler_stack_ends(void)
{
    CU_pSuite suite = CU_add_suite("sampler/stack_ends", NULL, NULL);
    CU_add_test(suite, "unknown stacks are copied as far as they go",
                test_unknown_stacks_are_copied_as_far_as_they_go);
    CU_add_test(suite, "mappings bound copies", test_mappings_bound_copies);
    CU_add_test(suite, "walks teach", test_walks_teach);
    CU_add_test(suite, "exact ends stay", test_exact_ends_stay);
}
