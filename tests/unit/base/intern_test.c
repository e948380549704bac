#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

static void test_numbers_come_in_order(void)
{
    struct sprof_intern table = {0};
    uint32_t number;
    char text[16];
    for (uint32_t i = 1; i <= 1000; i++) {
        snprintf(text, sizeof text, "f%u", i);
        CU_ASSERT_EQUAL(sprof_intern_put(&table, text, &number), 0);
        CU_ASSERT_EQUAL(number, i);
    }
    for (uint32_t i = 1; i <= 1000; i++) {
        snprintf(text, sizeof text, "f%u", i);
        CU_ASSERT_EQUAL(sprof_intern_put(&table, text, &number), 0);
        CU_ASSERT_EQUAL(number, i);
        CU_ASSERT_STRING_EQUAL(sprof_intern_text(&table, i), text);
        CU_ASSERT_EQUAL(sprof_intern_find(&table, text), i);
    }
    CU_ASSERT_EQUAL(table.count, 1000);
    sprof_intern_release(&table);
}

static void test_null_is_number_zero(void)
{
    struct sprof_intern table = {0};
    uint32_t number = 7;
    CU_ASSERT_EQUAL(sprof_intern_put(&table, NULL, &number), 0);
    CU_ASSERT_EQUAL(number, 0);
    CU_ASSERT_EQUAL(sprof_intern_find(&table, NULL), 0);
    CU_ASSERT_EQUAL(sprof_intern_put(&table, "", &number), 0);
    CU_ASSERT_EQUAL(number, 1);
    CU_ASSERT_PTR_NULL(sprof_intern_text(&table, 0));
    sprof_intern_release(&table);
}

static void test_what_was_never_put(void)
{
    struct sprof_intern table = {0};
    uint32_t number;
    CU_ASSERT_EQUAL(sprof_intern_find(&table, "main"), 0);
    CU_ASSERT_EQUAL(sprof_intern_put(&table, "main", &number), 0);
    CU_ASSERT_EQUAL(sprof_intern_find(&table, "mai"), 0);
    CU_ASSERT_PTR_NULL(sprof_intern_text(&table, 2));
    CU_ASSERT_PTR_NULL(sprof_intern_text(&table, UINT32_MAX));
    sprof_intern_release(&table);
}

/* Two pairs of strings that XXH3 cannot tell apart: of eight bytes it is a bijection. */
static void test_equal_hashes_stay_apart(void)
{
    static const char *const twins[] = {"main", "\x50\xc7\x47\x14\x3f\x49\xa9\x3b",
                                        "operator_new_of_many", "\xda\x1d\xcb\x48\x60\x63\x22\xb8"};
    CU_ASSERT_EQUAL(sprof_hash_text(twins[0]), sprof_hash_text(twins[1]));
    CU_ASSERT_EQUAL(sprof_hash_text(twins[2]), sprof_hash_text(twins[3]));
    struct sprof_intern table = {0};
    uint32_t number;
    CU_ASSERT_EQUAL(sprof_intern_put(&table, twins[0], &number), 0);
    CU_ASSERT_EQUAL(sprof_intern_find(&table, twins[1]), 0);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL(sprof_intern_put(&table, twins[i], &number), 0);
            CU_ASSERT_EQUAL(number, i + 1);
        }
    CU_ASSERT_STRING_EQUAL(sprof_intern_text(&table, 1), twins[0]);
    CU_ASSERT_STRING_EQUAL(sprof_intern_text(&table, 2), twins[1]);
    sprof_intern_release(&table);
}

static void test_texts_are_copies_that_stay_in_place(void)
{
    struct sprof_intern table = {0};
    uint32_t number;
    char text[16] = "first";
    CU_ASSERT_EQUAL(sprof_intern_put(&table, text, &number), 0);
    const char *first = sprof_intern_text(&table, 1);
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "%d", i);
        CU_ASSERT_EQUAL(sprof_intern_put(&table, text, &number), 0);
    }
    CU_ASSERT_PTR_EQUAL(sprof_intern_text(&table, 1), first);
    CU_ASSERT_STRING_EQUAL(first, "first");
    sprof_intern_release(&table);
    CU_ASSERT_EQUAL(table.count, 0);
}

void sprof_suite_base_intern(void);
void sprof_suite_base_intern(void)
{
    CU_pSuite suite = CU_add_suite("base/intern", NULL, NULL);
    CU_add_test(suite, "numbers come in order", test_numbers_come_in_order);
    CU_add_test(suite, "NULL is number 0", test_null_is_number_zero);
    CU_add_test(suite, "what was never put", test_what_was_never_put);
    CU_add_test(suite, "equal hashes stay apart", test_equal_hashes_stay_apart);
    CU_add_test(suite, "texts are copies", test_texts_are_copies_that_stay_in_place);
}
