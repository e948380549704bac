/* What the kernel says behind paths. */
#include "base/base.h"

#include <CUnit/CUnit.h>

static void test_path_length(void)
{
    CU_ASSERT_EQUAL(sprof_file_path_length("/usr/lib/a.so"), 13);
    CU_ASSERT_EQUAL(sprof_file_path_length("/usr/lib/a.so (deleted)"), 13);
    CU_ASSERT_EQUAL(sprof_file_path_length("/a (deleted).so"), 15);
    CU_ASSERT_EQUAL(sprof_file_path_length("/a (deleted) (deleted)"), 12);
    CU_ASSERT_EQUAL(sprof_file_path_length(" (deleted)"), 10); /* nothing before it */
    CU_ASSERT_EQUAL(sprof_file_path_length(""), 0);
}

void sprof_suite_base_file_id(void);

void sprof_suite_base_file_id(void)
{
    CU_pSuite suite = CU_add_suite("base/file_id", NULL, NULL);
    CU_add_test(suite, "paths without what is said behind them", test_path_length);
}
