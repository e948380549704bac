/* Sums of calls: what a thread had before is taken back, and figures may fall. */
#include "tests/unit/probing/made.h"

static void test_replace(void)
{
    const struct probing_calls first = {10, 2, 1, 8, 800, 3}, later = {15, 0, 2, 15, 700, 9};
    struct probing_calls sums = {100, 1, 1, 99, 5000, 7}, before = {0};
    probing_calls_replace(&sums, &before, &first);
    CU_ASSERT_EQUAL(sums.calls, 110);
    CU_ASSERT_EQUAL(sums.in_flight, 3);
    probing_calls_replace(&sums, &before, &later);
    CU_ASSERT_EQUAL(sums.calls, 115);
    CU_ASSERT_EQUAL(sums.in_flight, 1);
    CU_ASSERT_EQUAL(sums.abnormal, 3);
    CU_ASSERT_EQUAL(sums.timed, 114);
    CU_ASSERT_EQUAL(sums.self_ns, 5700);
    CU_ASSERT_EQUAL(sums.unlogged, 16);
    probing_calls_replace(&sums, &before, &later);
    CU_ASSERT_EQUAL(sums.calls, 115);
}

static void test_sum(void)
{
    static struct probing_program program;
    const struct probing_probe probes[] = {{.sums = {1, 2, 3, 4, 5, 6}, .governed_calls = 1},
                                           {.sums = {10, 20, 30, 40, 50, 60}}};
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&program.probes, probes[i]), 0);
    const struct probing_calls sums = probing_calls_sum(&program);
    CU_ASSERT_EQUAL(sums.calls, 11);
    CU_ASSERT_EQUAL(sums.in_flight, 22);
    CU_ASSERT_EQUAL(sums.abnormal, 33);
    CU_ASSERT_EQUAL(sums.timed, 44);
    CU_ASSERT_EQUAL(sums.self_ns, 55);
    CU_ASSERT_EQUAL(sums.unlogged, 66);
    probing_probe_forget_calls(&program.probes.items[0]);
    CU_ASSERT_EQUAL(program.probes.items[0].governed_calls, 0);
    CU_ASSERT_EQUAL(probing_calls_sum(&program).calls, 10);
    sprof_vec_release(&program.probes);
}

void sprof_suite_probing_sums(void);
void sprof_suite_probing_sums(void)
{
    CU_pSuite suite = CU_add_suite("probing/sums", NULL, NULL);
    CU_add_test(suite, "figures replace former ones", test_replace);
    CU_add_test(suite, "a program's are those of its probes", test_sum);
}
