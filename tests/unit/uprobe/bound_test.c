/* Functions lose their uprobes where all take more than they may, the most expensive first. */
#include "uprobe/bound.h"

#include <CUnit/CUnit.h>

static void test_within(void)
{
    struct uprobe_load loads[] = {{.function = 1, .ns = 30}, {.function = 2, .ns = 70}};
    CU_ASSERT_EQUAL(uprobe_bound(loads, 2, 100), 100);
    CU_ASSERT_FALSE(loads[0].goes);
    CU_ASSERT_FALSE(loads[1].goes);
    CU_ASSERT_EQUAL(uprobe_bound(NULL, 0, 0), 0);
}

static void test_most_expensive_first(void)
{
    struct uprobe_load loads[] = {
        {.function = 1, .ns = 10}, {.function = 2, .ns = 500}, {.function = 3, .ns = 60}};
    CU_ASSERT_EQUAL(uprobe_bound(loads, 3, 100), 570);
    CU_ASSERT_EQUAL(loads[0].function, 2);
    CU_ASSERT_TRUE(loads[0].goes);
    CU_ASSERT_FALSE(loads[1].goes);
    CU_ASSERT_FALSE(loads[2].goes);
}

/* The rest takes four fifths at most, so that the next look does not find too much again. */
static void test_room(void)
{
    struct uprobe_load loads[] = {
        {.function = 1, .ns = 5}, {.function = 2, .ns = 50}, {.function = 3, .ns = 50}};
    CU_ASSERT_EQUAL(uprobe_bound(loads, 3, 60), 105);
    CU_ASSERT_TRUE(loads[0].goes);
    CU_ASSERT_TRUE(loads[1].goes);
    CU_ASSERT_EQUAL(loads[2].function, 1);
    CU_ASSERT_FALSE(loads[2].goes);
}

void sprof_suite_uprobe_bound(void);

void sprof_suite_uprobe_bound(void)
{
    CU_pSuite suite = CU_add_suite("uprobe/bound", NULL, NULL);
    CU_add_test(suite, "within what they may take", test_within);
    CU_add_test(suite, "the most expensive first", test_most_expensive_first);
    CU_add_test(suite, "room to spare", test_room);
}
