#include "sampler/perf/wait_plan.h"

#include <CUnit/CUnit.h>

#define MS UINT64_C(1000000)
#define NOW (1000 * MS)
#define NEVER UINT64_MAX

/* In nanoseconds from NOW; the interval is 4 ms. */
static void test_the_plan(void)
{
    static const struct {
        const char *what;
        struct perf_wait_state state;
        bool polls_rings;
        uint64_t deadline_ns;
    } cases[] = {
        {"idle: the rings wake", {0}, true, NEVER},
        {"active: records gather", {.active = true}, false, NOW + 4 * MS},
        {"a record that is not ripe",
         {.has_record = true, .first_ns = NOW},
         false,
         NOW + PERF_SLACK_NS},
        {"one that is overdue",
         {.has_record = true, .first_ns = NOW - MS},
         false,
         NOW - MS + PERF_SLACK_NS},
        {"active with a record",
         {.active = true, .has_record = true, .first_ns = NOW},
         false,
         NOW + 4 * MS},
        {"rings that cannot be polled", {.rings_unpollable = true}, false, NOW + 4 * MS},
        {"deep stacks: each record at once",
         {.active = true, .deep_until_ns = NOW + 1},
         true,
         NEVER},
        {"deep stacks with a record",
         {.deep_until_ns = NOW + 1, .has_record = true, .first_ns = NOW},
         true,
         NOW + 2 * MS},
        {"deep stacks no more", {.active = true, .deep_until_ns = NOW}, false, NOW + 4 * MS},
        {"deep stacks at a high rate",
         {.active = true, .deep_until_ns = NOW + 1, .samples_per_second = 2001},
         false,
         NOW + MS},
        {"deep stacks, idle, at a high rate",
         {.deep_until_ns = NOW + 1, .samples_per_second = 2001},
         true,
         NEVER},
        {"deep stacks, rings that cannot be polled",
         {.active = true, .deep_until_ns = NOW + 1, .rings_unpollable = true},
         false,
         NOW + MS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_wait_state state = cases[i].state;
        state.batch_interval_ns = 4 * MS;
        state.samples_per_second = state.samples_per_second ? state.samples_per_second : 997;
        const struct perf_wait_plan plan = perf_wait_plan(&state, NOW);
        if (plan.polls_rings != cases[i].polls_rings || plan.deadline_ns != cases[i].deadline_ns)
            CU_FAIL(cases[i].what);
    }
}

static void test_short_intervals_are_not_prolonged(void)
{
    const struct perf_wait_state state = {.active = true,
                                          .rings_unpollable = true,
                                          .deep_until_ns = NOW + 1,
                                          .batch_interval_ns = MS / 2,
                                          .samples_per_second = 20000};
    CU_ASSERT_EQUAL(perf_wait_plan(&state, NOW).deadline_ns, NOW + MS / 2);
}

void sprof_suite_sampler_wait_plan(void);
void sprof_suite_sampler_wait_plan(void)
{
    CU_pSuite suite = CU_add_suite("sampler/wait_plan", NULL, NULL);
    CU_add_test(suite, "the plan", test_the_plan);
    CU_add_test(suite, "short intervals are not prolonged", test_short_intervals_are_not_prolonged);
}
