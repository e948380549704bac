/* Facts and steps of each way of measuring calls agree, and the sums of programs. */
#include "trace/tracing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <sys/mman.h>

static const struct probe_backend *const all[] = {&probe_backend_preload, &probe_backend_attach,
                                                  &probe_backend_held, &probe_backend_listening,
                                                  &probe_backend_uprobe};

static void test_steps(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct probe_backend *backend = all[i];
        CU_ASSERT_PTR_NOT_NULL(backend->source);
        CU_ASSERT_PTR_NOT_NULL(backend->place);
        CU_ASSERT_PTR_NOT_NULL(backend->meet);
        if (backend->has_agent) { /* trace_place_by_agent calls these */
            CU_ASSERT_PTR_NOT_NULL(backend->enter);
            CU_ASSERT_PTR_NOT_NULL(backend->begin);
            CU_ASSERT_PTR_NOT_NULL(backend->open_code);
        } else { /* there is no agent that does these */
            CU_ASSERT_PTR_NOT_NULL(backend->read);
            CU_ASSERT_PTR_NOT_NULL(backend->clear);
            CU_ASSERT_PTR_NOT_NULL(backend->cost);
            CU_ASSERT_PTR_NOT_NULL(backend->take_out);
            CU_ASSERT_FALSE(backend->needs_lease);
        }
        if (backend->only_embedded) { /* its thunks belong to functions, and its agent stays */
            CU_ASSERT_PTR_NOT_NULL(backend->number);
            CU_ASSERT_PTR_NOT_NULL(backend->take_out);
            CU_ASSERT_FALSE(backend->can_rest);
        }
    }
}

static void test_facts(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct probe_backend *backend = all[i];
        if (backend->borrows)
            CU_ASSERT_TRUE(backend->is_live && backend->needs_keeper);
        if (backend->can_rest) /* code that changes must be taken out after a kill */
            CU_ASSERT_TRUE(backend->needs_keeper && backend->needs_lease);
        if (backend->in_nanoseconds)
            CU_ASSERT_FALSE(backend->has_agent);
    }
}

static void test_memberships(void)
{
    static const struct trace_membership *const cases[] = {&trace_of_one, &trace_of_children,
                                                           &trace_of_several};
    size_t ones = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_PTR_NOT_NULL(cases[i]->open);
        CU_ASSERT_PTR_NOT_NULL(cases[i]->set_up);
        CU_ASSERT_TRUE(cases[i]->is_one || cases[i]->serve); /* programs end */
        CU_ASSERT_TRUE(cases[i]->ends_with_target || cases[i]->are_over);
        ones += cases[i]->is_one;
    }
    CU_ASSERT_EQUAL(ones, 1);
}

static void make(struct trace_session *program, struct trace *trace, uint64_t calls)
{
    const struct probing_probe probes[] = {
        {.is_chosen = true, .is_on = true}, {.is_chosen = true, .rests = true}, {.is_on = true}};
    *program = (struct trace_session){.trace = trace,
                                      .all = &trace->calls,
                                      .group = &trace->probing,
                                      .counts = {.calls = calls, .in_flight = 1},
                                      .log.logged = 2 * calls};
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
    static struct trace_session programs[2]; /* large */
    struct trace trace = {0};
    struct calls_sums sums, first = {0};
    make(&programs[0], &trace, 10);
    make(&programs[1], &trace, 100);
    calls_add_up(&programs[0].calls, &sums);
    CU_ASSERT_EQUAL(sums.calls, 110);
    CU_ASSERT_EQUAL(sums.in_flight, 2);
    CU_ASSERT_EQUAL(sums.logged, 220);
    CU_ASSERT_EQUAL(sums.probes, 4);
    CU_ASSERT_EQUAL(sums.probes_on, 2);
    CU_ASSERT_EQUAL(sums.probes_resting, 2);
    calls_program_add_up(&programs[1].calls, &first);
    calls_add_ended(&trace.ended.calls, &first);
    trace.programs.count = 1;
    calls_add_up(&programs[0].calls, &sums);
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
    static struct trace_session session;
    session = (struct trace_session){.times = {.now_ns = 100, .start.ns = 40}};
    CU_ASSERT_EQUAL(calls_measured_ns(&session.calls), 60);
    session.times.cleared.ns = 70;
    CU_ASSERT_EQUAL(calls_measured_ns(&session.calls), 30);
    session.times.cleared.ns = 30; /* before it began */
    CU_ASSERT_EQUAL(calls_measured_ns(&session.calls), 60);
}

void sprof_suite_trace_backend(void);

void sprof_suite_trace_backend(void)
{
    CU_pSuite suite = CU_add_suite("trace/backend", NULL, NULL);
    CU_add_test(suite, "steps", test_steps);
    CU_add_test(suite, "facts", test_facts);
    CU_add_test(suite, "memberships", test_memberships);
    CU_add_test(suite, "sums of programs", test_sums);
    CU_add_test(suite, "measured time", test_measured_time);
}
