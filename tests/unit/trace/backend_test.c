/* Facts and steps of each way of measuring calls agree. */
#include "trace/tracing.h"

#include <CUnit/CUnit.h>

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

void sprof_suite_trace_backend(void);

void sprof_suite_trace_backend(void)
{
    CU_pSuite suite = CU_add_suite("trace/backend", NULL, NULL);
    CU_add_test(suite, "steps", test_steps);
    CU_add_test(suite, "facts", test_facts);
    CU_add_test(suite, "memberships", test_memberships);
}
