#include "report/row_numbers.h"

#include <CUnit/CUnit.h>

static void test_near_and_far(void)
{
    struct report_row_numbers numbers = {0};
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 0), 0);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 7), 0);
    CU_ASSERT_EQUAL(report_row_numbers_put(&numbers, UINT32_MAX, 9), 0);
    CU_ASSERT_EQUAL(report_row_numbers_put(&numbers, 5000, 8),
                    0); /* far, until its neighbours come */
    CU_ASSERT_EQUAL(report_row_numbers_put(&numbers, 0, 3), 0);
    for (uint32_t id = 1; id <= 6000; id++)
        if (id != 5000 && id != 4000)
            CU_ASSERT_EQUAL(report_row_numbers_put(&numbers, id, id + 10), 0);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 0), 0);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 1), 11);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 4000), 0);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 5000), 8);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 6000), 6010);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 6001), 0);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, UINT32_MAX), 9);
    report_row_numbers_release(&numbers);
}

/* Ids that lie far apart do not make the array large. */
static void test_scattered(void)
{
    struct report_row_numbers numbers = {0};
    for (uint32_t i = 1; i <= 4000; i++)
        CU_ASSERT_EQUAL(report_row_numbers_put(&numbers, i * 1000003, i), 0);
    CU_ASSERT_TRUE(numbers.near.capacity < 100000);
    for (uint32_t i = 1; i <= 4000; i++)
        CU_ASSERT_EQUAL(report_dataset_number(&numbers, i * 1000003), i);
    CU_ASSERT_EQUAL(report_dataset_number(&numbers, 1000002), 0);
    report_row_numbers_release(&numbers);
}

void sprof_suite_report_row_numbers(void);
void sprof_suite_report_row_numbers(void)
{
    CU_pSuite suite = CU_add_suite("report/row_numbers", NULL, NULL);
    CU_add_test(suite, "near and far", test_near_and_far);
    CU_add_test(suite, "scattered", test_scattered);
}
