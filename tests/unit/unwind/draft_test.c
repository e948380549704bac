#include "unwind/draft.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>

static void add(struct draft_list *list, uint64_t start, uint64_t end, enum draft_source source)
{
    const struct draft draft = {.start = start,
                                .end = end,
                                .source = (uint8_t)source,
                                .entry = (uint32_t)list->drafts.count};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&list->drafts, draft), 0);
}

static void test_sort(void)
{
    enum { COUNT = 5000 };
    struct draft_list list = {0};
    unsigned seed = 1;
    for (int i = 0; i < COUNT; i++)
        add(&list, 0x1000 + ((uint64_t)rand_r(&seed) << 1) % 0xffff0000, 0, DRAFT_EH_FRAME);
    for (int i = 0; i < 100; i++)
        add(&list, 0x2000, 0, DRAFT_EH_FRAME);
    CU_ASSERT_EQUAL(draft_list_sort(&list, 0x1000), 0);
    CU_ASSERT_EQUAL(list.drafts.count, COUNT + 100);
    size_t wrong = 0;
    for (size_t i = 1; i < list.drafts.count; i++) {
        const struct draft *before = &list.drafts.items[i - 1], *draft = &list.drafts.items[i];
        wrong += before->start > draft->start ||
                 (before->start == draft->start && before->entry > draft->entry);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    sprof_vec_release(&list.drafts);
}

static void test_clip(void)
{
    static const struct {
        uint64_t start, end;
        enum draft_source source;
    } expected[] = {{0, 20, DRAFT_EH_FRAME},  {20, 40, DRAFT_EH_FRAME}, {40, 60, DRAFT_GO},
                    {70, 80, DRAFT_EH_FRAME}, {100, 110, DRAFT_PLT},    {110, 120, DRAFT_EH_FRAME},
                    {200, 264, DRAFT_ROOT}};
    struct draft_list list = {0};
    add(&list, 0, 30, DRAFT_EH_FRAME);
    add(&list, 20, 50, DRAFT_EH_FRAME);    /* the later start wins */
    add(&list, 20, 99, DRAFT_EH_FRAME);    /* of the same start, the first */
    add(&list, 25, 35, DRAFT_DEBUG_FRAME); /* less believed: gone */
    add(&list, 40, 60, DRAFT_GO);          /* more believed */
    add(&list, 45, 55, DRAFT_EH_FRAME);
    add(&list, 70, 80, DRAFT_EH_FRAME);
    add(&list, 75, 139, DRAFT_ROOT); /* marks its function */
    add(&list, 100, 120, DRAFT_PLT);
    add(&list, 110, 120, DRAFT_EH_FRAME);
    add(&list, 200, 264, DRAFT_ROOT);
    draft_list_clip(&list);
    CU_ASSERT_EQUAL_FATAL(list.drafts.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < list.drafts.count; i++) {
        CU_ASSERT_EQUAL(list.drafts.items[i].start, expected[i].start);
        CU_ASSERT_EQUAL(list.drafts.items[i].end, expected[i].end);
        CU_ASSERT_EQUAL(list.drafts.items[i].source, expected[i].source);
        CU_ASSERT_EQUAL(list.drafts.items[i].root, i == 3);
    }
    sprof_vec_release(&list.drafts);
}

void sprof_suite_unwind_draft(void);
void sprof_suite_unwind_draft(void)
{
    CU_pSuite suite = CU_add_suite("unwind/draft", NULL, NULL);
    CU_add_test(suite, "sorting keeps the order of equals", test_sort);
    CU_add_test(suite, "clipping", test_clip);
}
