/* Runs every suite of one library. With an argument, only the suite of that name, or else all whose
 * names hold it. */
#include "tests/unit/skip.h"
#include "tests/unit/suites.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 }; /* ctest's SKIP_RETURN_CODE */

static void choose(const char *name)
{
    const bool whole = CU_get_suite(name) != NULL;
    for (CU_pSuite suite = CU_get_registry()->pSuite; suite; suite = suite->pNext)
        if (whole ? strcmp(suite->pName, name) != 0 : !strstr(suite->pName, name))
            CU_set_suite_active(suite, CU_FALSE);
}

int main(int argc, char **argv)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    sprof_register_suites();
    if (argc > 1)
        choose(argv[1]);
    CU_set_fail_on_inactive(CU_FALSE);
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    const unsigned failures = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
    const unsigned asserts = CU_get_number_of_asserts();
    CU_cleanup_registry();
    if (!asserts)
        fprintf(stderr, "no assertion was made\n");
    if (failures || !asserts)
        return 1;
    if (sprof_test_skips())
        printf("%u tests could not run here, wholly or in part\n", sprof_test_skips());
    return sprof_test_skips() ? SKIPPED : 0;
}
