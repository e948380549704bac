/* Sums of programs, and what in them is possible. */
#include "calls/calls.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <sys/mman.h>

static void make(struct calls_program *program, struct calls_trace *trace, uint64_t calls)
{
    const struct probing_probe probes[] = {
        {.is_chosen = true, .is_on = true, .sums = {.calls = calls - 1, .unlogged = 3}},
        {.is_chosen = true, .rests = true, .sums = {.calls = 1, .in_flight = 1, .abnormal = 2}},
        {.is_on = true, .sums = {.unlogged = 4}}};
    *program =
        (struct calls_program){.all = trace, .group = &trace->probing, .log.logged = 2 * calls};
    program->process.shared = mmap(NULL, sizeof *program->process.shared, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(program->process.shared, MAP_FAILED);
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&program->probes, probes[i]), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&trace->programs, &program->probing), 0);
}

/* Calls of ended programs stay in the sums, and their probes do not. */
static void test_sums(void)
{
    static struct calls_program programs[2]; /* large */
    struct calls_trace trace = {0};
    struct calls_sums sums, first = {0};
    make(&programs[0], &trace, 10);
    make(&programs[1], &trace, 100);
    calls_add_up(&programs[0], &sums);
    CU_ASSERT_EQUAL(sums.calls, 110);
    CU_ASSERT_EQUAL(sums.in_flight, 2);
    CU_ASSERT_EQUAL(sums.abnormal, 4);
    CU_ASSERT_EQUAL(sums.unlogged, 14);
    CU_ASSERT_EQUAL(sums.logged, 220);
    CU_ASSERT_EQUAL(sums.probes, 4);
    CU_ASSERT_EQUAL(sums.probes_on, 2);
    CU_ASSERT_EQUAL(sums.probes_resting, 2);
    calls_program_add_up(&programs[1], &first);
    calls_add_ended(&trace.ended.calls, &first);
    trace.programs.count = 1;
    calls_add_up(&programs[0], &sums);
    CU_ASSERT_EQUAL(sums.calls, 110);
    CU_ASSERT_EQUAL(sums.logged, 220);
    CU_ASSERT_EQUAL(sums.probes, 2);
    for (size_t i = 0; i < 2; i++) {
        munmap(programs[i].process.shared, sizeof *programs[i].process.shared);
        sprof_vec_release(&programs[i].probes);
    }
    sprof_vec_release(&trace.programs);
}

static void test_measured_time(void)
{
    static struct calls_program program;
    program = (struct calls_program){.times = {.now_ns = 100, .start.ns = 40}};
    CU_ASSERT_EQUAL(calls_measured_ns(&program), 60);
    program.times.cleared.ns = 70;
    CU_ASSERT_EQUAL(calls_measured_ns(&program), 30);
    program.times.cleared.ns = 30; /* before it began */
    CU_ASSERT_EQUAL(calls_measured_ns(&program), 60);
}

/* What only a broken or hostile program can have written counts as nothing. */
static void test_impossible(void)
{
    static struct calls_program program; /* large */
    struct calls_trace trace = {0};
    struct calls_sums sums = {0};
    make(&program, &trace, 10);
    program.times.now_ns = 1000;
    atomic_store(&program.process.shared->untracked, 7);
    program.process.shared->cost = (struct probe_cost){.inside = 10, .whole = 20, .count = 5};
    calls_program_add_up(&program, &sums);
    CU_ASSERT_EQUAL(sums.untracked, 7);
    CU_ASSERT_FALSE(sums.are_impossible);
    CU_ASSERT_EQUAL(calls_cost_of(&program).whole, 20);
    atomic_store(&program.process.shared->untracked, UINT64_MAX / 2);
    program.process.shared->cost.count = UINT32_MAX;
    sums = (struct calls_sums){0};
    calls_program_add_up(&program, &sums);
    CU_ASSERT_EQUAL(sums.untracked, 0);
    CU_ASSERT_TRUE(sums.are_impossible);
    CU_ASSERT_EQUAL(calls_cost_of(&program).whole, 0);
    CU_ASSERT_TRUE(calls_are_possible(1000000, 1000000));
    CU_ASSERT_FALSE(calls_are_possible(UINT64_MAX, 1000000));
    munmap(program.process.shared, sizeof *program.process.shared);
    sprof_vec_release(&program.probes);
    sprof_vec_release(&trace.programs);
}

void sprof_suite_calls_totals(void);

void sprof_suite_calls_totals(void)
{
    CU_pSuite suite = CU_add_suite("calls/totals", NULL, NULL);
    CU_add_test(suite, "sums of programs", test_sums);
    CU_add_test(suite, "measured time", test_measured_time);
    CU_add_test(suite, "impossible figures", test_impossible);
}
