#include "sampler/stack_tail.h"

#include <CUnit/CUnit.h>

/* A provider that has the tail of one record. */
struct provider {
    uint64_t has;
    uint8_t byte;
    unsigned asked;
};

static bool find(void *self, const struct sampler_stack *stack, size_t ring, uint64_t offset,
                 struct sampler_stack_tail *tail)
{
    struct provider *provider = self;
    provider->asked++;
    CU_ASSERT_EQUAL(ring, 3);
    *tail = (struct sampler_stack_tail){.bytes = &provider->byte,
                                        .address = stack->pointer + 8,
                                        .size = 1,
                                        .with_sample = provider->byte == 1};
    return provider->has == offset;
}

/* The first that has it wins; the others are asked all the same, for they give up what is behind.
 */
static void test_the_first_wins(void)
{
    static const struct {
        uint64_t first, second;
        unsigned found; /* 0: nobody */
    } cases[] = {{7, 7, 1}, {7, 9, 1}, {9, 7, 2}, {9, 9, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct provider first = {.has = cases[i].first, .byte = 1};
        struct provider second = {.has = cases[i].second, .byte = 2};
        struct sampler_stack_tails tails = {0};
        const struct sampler_stack stack = {.tid = 5, .pointer = 0x1000};
        struct model_sample sample = {0};
        sampler_stack_tails_add(&tails, find, &first);
        sampler_stack_tails_add(&tails, find, &second);
        CU_ASSERT_EQUAL(sampler_stack_tails_find(&tails, &stack, 3, 7, &sample),
                        cases[i].found != 0);
        CU_ASSERT_EQUAL(sample.tail ? *sample.tail : 0, cases[i].found);
        CU_ASSERT_EQUAL(sample.tail_address, cases[i].found ? 0x1008 : 0);
        CU_ASSERT_EQUAL(sample.tail_with_sample, cases[i].found == 1);
        CU_ASSERT_TRUE(first.asked == 1 && second.asked == 1);
    }
}

static void test_nobody(void)
{
    const struct sampler_stack_tails tails = {0};
    const struct sampler_stack stack = {.tid = 5};
    struct model_sample sample = {0};
    CU_ASSERT_FALSE(sampler_stack_tails_find(&tails, &stack, 0, 0, &sample));
    CU_ASSERT_PTR_NULL(sample.tail);
}

static void test_ends_are_learnt_and_forgotten(void)
{
    struct sampler_stack_tails tails = {0};
    CU_ASSERT_EQUAL_FATAL(sampler_stack_ends_open(&tails.ends, -1), 0);
    sampler_stack_tails_learn(&tails, 5, 0x1000, 0x2000,
                              (struct model_stack_extent){.kind = MODEL_STACK_ENDS, .end = 0x3000});
    CU_ASSERT_PTR_NOT_NULL(sampler_stack_ends_find(&tails.ends, 5, 0x1000));
    sampler_stack_tails_forget(&tails, 5);
    CU_ASSERT_PTR_NULL(sampler_stack_ends_find(&tails.ends, 5, 0x1000));
    sampler_stack_ends_close(&tails.ends);
}

void sprof_suite_sampler_stack_tail(void);
void sprof_suite_sampler_stack_tail(void)
{
    CU_pSuite suite = CU_add_suite("sampler/stack_tail", NULL, NULL);
    CU_add_test(suite, "the first wins", test_the_first_wins);
    CU_add_test(suite, "nobody", test_nobody);
    CU_add_test(suite, "ends are learnt and forgotten", test_ends_are_learnt_and_forgotten);
}
