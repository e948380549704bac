#include "recording/kernel_opening.h"

#include <CUnit/CUnit.h>

static void test_it_is_taken_once(void)
{
    struct recording_kernel_opening opening;
    struct symbolize_kernel *kernel = NULL;
    struct sprof_error error = {0};
    recording_kernel_opening_begin(&opening);
    CU_ASSERT_TRUE_FATAL(recording_kernel_opening_take(&opening, &kernel, &error));
    CU_ASSERT_TRUE(kernel ? !error.code : error.code < 0);
    CU_ASSERT_FALSE(recording_kernel_opening_take(&opening, &kernel, &error));
    symbolize_kernel_free(kernel);
    recording_kernel_opening_release(&opening);
}

/* The sanitizer sees what is left. */
static void test_what_nobody_takes_is_freed(void)
{
    struct recording_kernel_opening opening, none = {0};
    struct symbolize_kernel *kernel = NULL;
    struct sprof_error error = {0};
    recording_kernel_opening_begin(&opening);
    recording_kernel_opening_release(&opening);
    CU_ASSERT_FALSE(opening.running);
    CU_ASSERT_FALSE(recording_kernel_opening_take(&none, &kernel, &error));
    CU_ASSERT_PTR_NULL(kernel);
    recording_kernel_opening_release(&none);
}

void sprof_suite_recording_kernel_opening(void);
void sprof_suite_recording_kernel_opening(void)
{
    CU_pSuite suite = CU_add_suite("recording/kernel_opening", NULL, NULL);
    CU_add_test(suite, "it is taken once", test_it_is_taken_once);
    CU_add_test(suite, "what nobody takes is freed", test_what_nobody_takes_is_freed);
}
