#include "agent/agent.h"

#include <CUnit/CUnit.h>

#define PROGRAM_OF(...) agent_loaded_program((char *[]){"ld.so", __VA_ARGS__, NULL})

static void test_first_argument_is_the_program(void)
{
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("./program"), "./program");
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("./program", "--argv0", "other"), "./program");
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("-", "other"), "-");
}

static void test_options_stand_before_it(void)
{
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("--inhibit-cache", "./program"), "./program");
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("--library-path", "/lib", "--argv0", "a", "./program", "b"),
                           "./program");
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("--preload=a.so", "./program"), "./program");
    CU_ASSERT_STRING_EQUAL(PROGRAM_OF("--", "--program"), "--program");
}

static void test_some_arguments_name_none(void)
{
    CU_ASSERT_PTR_NULL(agent_loaded_program(NULL));
    CU_ASSERT_PTR_NULL(agent_loaded_program((char *[]){NULL}));
    CU_ASSERT_PTR_NULL(agent_loaded_program((char *[]){"ld.so", NULL}));
    CU_ASSERT_PTR_NULL(PROGRAM_OF("--list", "./program"));
    CU_ASSERT_PTR_NULL(PROGRAM_OF("--preload"));
    CU_ASSERT_PTR_NULL(PROGRAM_OF("--preload", "a.so"));
    CU_ASSERT_PTR_NULL(PROGRAM_OF("--"));
}

void sprof_suite_agent_loader(void);

void sprof_suite_agent_loader(void)
{
    CU_pSuite suite = CU_add_suite("agent/loader", NULL, NULL);
    CU_ADD_TEST(suite, test_first_argument_is_the_program);
    CU_ADD_TEST(suite, test_options_stand_before_it);
    CU_ADD_TEST(suite, test_some_arguments_name_none);
}
