#include "report/wait_kinds.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_functions_that_wait(void)
{
    static const struct {
        const char *function, *kind;
    } cases[] = {
        {"__poll", "poll"},
        {"clock_nanosleep", "sleep"},
        {"epoll_wait", "epoll_wait"},
        {"wait4", "wait"},
        {"my_poll", NULL},
        {"poller", NULL},
        {"___select", "select"},
        {"", NULL},
        {"read", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kind = report_wait_kind_of_function(cases[i].function);
        CU_ASSERT_TRUE(kind ? cases[i].kind && !strcmp(kind, cases[i].kind) : !cases[i].kind);
    }
    CU_ASSERT_TRUE(report_wait_function_blocks("__lll_lock_wait"));
    CU_ASSERT_TRUE(report_wait_function_blocks("__futex_abstimed_wait_common64"));
    CU_ASSERT_TRUE(report_wait_function_blocks("__timedwait_cp"));
    CU_ASSERT_FALSE(report_wait_function_blocks("pthread_mutex_lock"));
    CU_ASSERT_TRUE(report_wait_function_enters("__syscall_cancel_arch"));
    CU_ASSERT_TRUE(report_wait_function_enters("__internal_syscall_cancel"));
    CU_ASSERT_TRUE(report_wait_function_enters("__syscall_cp_asm"));
    CU_ASSERT_FALSE(report_wait_function_enters("syscall"));
    CU_ASSERT_FALSE(report_wait_function_enters("poll"));
}

void sprof_suite_report_wait_kinds(void);
void sprof_suite_report_wait_kinds(void)
{
    CU_pSuite suite = CU_add_suite("report/wait_kinds", NULL, NULL);
    CU_add_test(suite, "functions that wait", test_functions_that_wait);
}
