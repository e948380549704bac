#include "cli/options.h"

#include <CUnit/CUnit.h>

static void test_nearest(void)
{
    static const char *const names[] = {"record", "report", "script", "sql", "symbolize", NULL};
    CU_ASSERT_EQUAL(cli_nearest("recrod", names), 0);
    CU_ASSERT_EQUAL(cli_nearest("reports", names), 1);
    CU_ASSERT_EQUAL(cli_nearest("symb", names), 4);
    CU_ASSERT_EQUAL(cli_nearest("sql", names), 3);
    CU_ASSERT_EQUAL(cli_nearest("frobnicate", names), -1);
    CU_ASSERT_EQUAL(cli_nearest("", names), -1);
    CU_ASSERT_EQUAL(
        cli_nearest("a word far longer than any option of any program should be", names), -1);
}

void sprof_suite_cli_nearest(void);
void sprof_suite_cli_nearest(void)
{
    CU_pSuite suite = CU_add_suite("cli/nearest", NULL, NULL);
    CU_add_test(suite, "nearest", test_nearest);
}
