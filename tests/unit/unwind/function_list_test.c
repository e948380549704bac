#include "unwind/function_list.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>

static void add(struct function_list *list, uint64_t start, uint64_t end,
                enum function_source source)
{
    const struct function_range range = {.start = start,
                                         .end = end,
                                         .source = (uint8_t)source,
                                         .entry = (uint32_t)list->functions.count};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&list->functions, range), 0);
}

static void test_sort(void)
{
    enum { COUNT = 5000 };
    struct function_list list = {0};
    unsigned seed = 1;
    for (int i = 0; i < COUNT; i++)
        add(&list, 0x1000 + ((uint64_t)rand_r(&seed) << 1) % 0xffff0000, 0, FUNCTION_FROM_EH_FRAME);
    for (int i = 0; i < 100; i++)
        add(&list, 0x2000, 0, FUNCTION_FROM_EH_FRAME);
    CU_ASSERT_EQUAL(unwind_function_list_sort(&list, 0x1000), 0);
    CU_ASSERT_EQUAL(list.functions.count, COUNT + 100);
    size_t wrong = 0;
    for (size_t i = 1; i < list.functions.count; i++) {
        const struct function_range *before = &list.functions.items[i - 1],
                                    *range = &list.functions.items[i];
        wrong += before->start > range->start ||
                 (before->start == range->start && before->entry > range->entry);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    sprof_vec_release(&list.functions);
}

static void test_clip(void)
{
    static const struct {
        uint64_t start, end;
        enum function_source source;
    } expected[] = {{0, 20, FUNCTION_FROM_EH_FRAME}, {20, 40, FUNCTION_FROM_EH_FRAME},
                    {40, 60, FUNCTION_FROM_GO},      {70, 80, FUNCTION_FROM_EH_FRAME},
                    {100, 110, FUNCTION_FROM_PLT},   {110, 120, FUNCTION_FROM_EH_FRAME},
                    {200, 264, FUNCTION_FROM_ROOT}};
    struct function_list list = {0};
    add(&list, 0, 30, FUNCTION_FROM_EH_FRAME);
    add(&list, 20, 50, FUNCTION_FROM_EH_FRAME);    /* the later start wins */
    add(&list, 20, 99, FUNCTION_FROM_EH_FRAME);    /* of the same start, the first */
    add(&list, 25, 35, FUNCTION_FROM_DEBUG_FRAME); /* less believed: gone */
    add(&list, 40, 60, FUNCTION_FROM_GO);          /* more believed */
    add(&list, 45, 55, FUNCTION_FROM_EH_FRAME);
    add(&list, 70, 80, FUNCTION_FROM_EH_FRAME);
    add(&list, 75, 139, FUNCTION_FROM_ROOT); /* marks its function */
    add(&list, 100, 120, FUNCTION_FROM_PLT);
    add(&list, 110, 120, FUNCTION_FROM_EH_FRAME);
    add(&list, 200, 264, FUNCTION_FROM_ROOT);
    unwind_function_list_clip(&list);
    CU_ASSERT_EQUAL_FATAL(list.functions.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < list.functions.count; i++) {
        CU_ASSERT_EQUAL(list.functions.items[i].start, expected[i].start);
        CU_ASSERT_EQUAL(list.functions.items[i].end, expected[i].end);
        CU_ASSERT_EQUAL(list.functions.items[i].source, expected[i].source);
        CU_ASSERT_EQUAL(list.functions.items[i].root, i == 3);
    }
    sprof_vec_release(&list.functions);
}

void sprof_suite_unwind_function_list(void);
void sprof_suite_unwind_function_list(void)
{
    CU_pSuite suite = CU_add_suite("unwind/function_list", NULL, NULL);
    CU_add_test(suite, "sorting keeps the order of equals", test_sort);
    CU_add_test(suite, "clipping", test_clip);
}
