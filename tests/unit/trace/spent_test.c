/* What probes take, and which do less: by what was measured of programs, without running any. */
#include "trace/spent.h"

#include <CUnit/CUnit.h>

enum { MANY = 2000 };
static const struct trace_call_cost second = {.timed_ns = 36, .counted_ns = 2.3, .cpu_ns = 1e9};

static struct trace_spent spent(enum probing_governed does, double calls, double self_ns)
{
    return (struct trace_spent){.does = does, .calls = calls, .self_ns = self_ns};
}

/* What a call took more with its probe than without, of so many functions called in turns, where
 * one of them came each `between_ns`. */
static const struct {
    enum probing_governed does;
    size_t functions;
    double between_ns, more_ns;
} measured[] = {
    {PROBING_GOVERNED_NOT, 1, 38, 35},          {PROBING_GOVERNED_COUNT, 8, 64, 3.1},
    {PROBING_GOVERNED_NOT, 8, 307, 33.4},       {PROBING_GOVERNED_COUNT, 64, 592, 4.4},
    {PROBING_GOVERNED_NOT, 64, 2474, 33.8},     {PROBING_GOVERNED_COUNT, 256, 2757, 5.5},
    {PROBING_GOVERNED_NOT, 256, 10660, 36.4},   {PROBING_GOVERNED_COUNT, 1024, 26962, 20},
    {PROBING_GOVERNED_NOT, 1024, 63930, 56},    {PROBING_GOVERNED_COUNT, 4096, 272800, 53.4},
    {PROBING_GOVERNED_NOT, 4096, 431350, 92.1},
};

static void test_calls_take_what_was_measured(void)
{
    static struct trace_spent list[4096];
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        const double calls = second.cpu_ns / measured[i].between_ns;
        for (size_t k = 0; k < measured[i].functions; k++)
            list[k] = spent(measured[i].does, calls, 3);
        const double ns = trace_spent_ns(list, measured[i].functions, &second),
                     one_ns = ns / calls / (double)measured[i].functions;
        CU_ASSERT(one_ns > 0.78 * measured[i].more_ns && one_ns < 1.25 * measured[i].more_ns);
    }
}

/* However cold it is: what a call takes is bounded, and hardly more by what others did before. */
static void test_calls_of_others_make_none_dearer(void)
{
    struct trace_spent alone = spent(PROBING_GOVERNED_COUNT, 20000, 0);
    struct trace_spent among[] = {alone, spent(PROBING_GOVERNED_COUNT, 2e7, 0)};
    trace_spent_ns(&alone, 1, &second);
    trace_spent_ns(among, 2, &second);
    CU_ASSERT_DOUBLE_EQUAL(among[0].ns, alone.ns, 1);
}

static void test_all_take_no_longer_than_the_program_ran(void)
{
    struct trace_spent list[] = {spent(PROBING_GOVERNED_NOT, 2e7, 0),
                                 spent(PROBING_GOVERNED_NOT, 2e7, 0)};
    CU_ASSERT_DOUBLE_EQUAL(trace_spent_ns(list, 2, &second), second.cpu_ns, 1);
    CU_ASSERT_DOUBLE_EQUAL(list[0].ns + list[1].ns, second.cpu_ns, 1);
    CU_ASSERT_TRUE(list[0].counted_ns < list[0].timed_ns);
}

static double left_of(const struct trace_spent *list, size_t count)
{
    double sum_ns = 0;
    for (size_t i = 0; i < count; i++)
        sum_ns += list[i].becomes == PROBING_GOVERNED_OFF     ? 0
                  : list[i].becomes == PROBING_GOVERNED_COUNT ? list[i].counted_ns
                                                              : list[i].timed_ns;
    return sum_ns;
}

static size_t count_of(const struct trace_spent *list, size_t count, enum probing_governed what)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += list[i].becomes == what;
    return found;
}

/* Each of them could be counted within the limit, but not all: what was timed is off at once. */
static void test_one_decision_reaches_the_limit(void)
{
    static struct trace_spent list[MANY];
    for (size_t i = 0; i < MANY; i++)
        list[i] = spent(PROBING_GOVERNED_NOT, i < MANY / 2 ? 9000 : 1000, (double)(i % 50));
    const double limit_ns = 0.04 * second.cpu_ns;
    CU_ASSERT_TRUE(trace_spent_ns(list, MANY, &second) > limit_ns);
    trace_spent_lower(list, MANY, limit_ns);
    CU_ASSERT_TRUE(left_of(list, MANY) <= limit_ns);
    CU_ASSERT_TRUE(left_of(list, MANY) > 0.95 * limit_ns);
    CU_ASSERT_TRUE(count_of(list, MANY, PROBING_GOVERNED_OFF) > 0);
    CU_ASSERT_TRUE(count_of(list, MANY, PROBING_GOVERNED_COUNT) > 0);
}

static void test_the_shortest_calls_are_counted_first(void)
{
    struct trace_spent list[] = {spent(PROBING_GOVERNED_NOT, 1e6, 700),
                                 spent(PROBING_GOVERNED_NOT, 1e6, 50),
                                 spent(PROBING_GOVERNED_NOT, 300, 1e6)};
    trace_spent_ns(list, 3, &second);
    trace_spent_lower(list, 3, 0.05 * second.cpu_ns);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(list[i].becomes,
                        list[i].self_ns == 50 ? PROBING_GOVERNED_COUNT : PROBING_GOVERNED_NOT);
}

/* One that is too hot even to be counted is off in one step; the heap check's goes on counting. */
static void test_what_is_too_hot_is_off(void)
{
    struct trace_spent list[] = {spent(PROBING_GOVERNED_NOT, 1e7, 2),
                                 spent(PROBING_GOVERNED_NOT, 1e7, 1)};
    list[1].must_count = true;
    trace_spent_ns(list, 2, &second);
    trace_spent_lower(list, 2, 0.01 * second.cpu_ns);
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(list[i].becomes,
                        list[i].must_count ? PROBING_GOVERNED_COUNT : PROBING_GOVERNED_OFF);
}

static void test_what_fits_is_left_alone(void)
{
    struct trace_spent list[] = {spent(PROBING_GOVERNED_NOT, 1e5, 2),
                                 spent(PROBING_GOVERNED_COUNT, 1e5, 1),
                                 spent(PROBING_GOVERNED_OFF, 1e5, 1)};
    trace_spent_ns(list, 3, &second);
    trace_spent_lower(list, 3, 0.05 * second.cpu_ns);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(list[i].becomes, list[i].does);
}

static void test_room(void)
{
    const double limit_ns = 5e7;
    double recent_ns = 0;
    for (int i = 0; i < 100; i++) /* a twentieth of all time */
        recent_ns = trace_spent_recent(recent_ns, 2.5e6, 5e7);
    CU_ASSERT_DOUBLE_EQUAL(recent_ns, limit_ns, 1e6);
    CU_ASSERT_EQUAL(trace_spent_room(recent_ns, limit_ns), 1);
    CU_ASSERT_TRUE(trace_spent_room(1.6 * limit_ns, limit_ns) < 0.6);
    CU_ASSERT_EQUAL(trace_spent_room(3 * limit_ns, limit_ns), 0.2);
    CU_ASSERT_EQUAL(trace_spent_recent(recent_ns, 1e6, 2e9), 1e6);
}

static void test_lately(void)
{
    CU_ASSERT_EQUAL(trace_spent_lately(4e6, 20e6, 1e6, 5e6), 1);
    CU_ASSERT_DOUBLE_EQUAL(trace_spent_lately(4e6, 20e6, 3e6, 5e6), 3, 1e-9);
    CU_ASSERT_EQUAL(trace_spent_lately(4e6, 20e6, 0, 5e6), 1);
    CU_ASSERT_EQUAL(trace_spent_lately(4e6, 500e6, 4e6, 5e6), 8);
    CU_ASSERT_EQUAL(trace_spent_lately(0, 0, 0, 0), 1);
}

void sprof_suite_trace_spent(void);
void sprof_suite_trace_spent(void)
{
    CU_pSuite suite = CU_add_suite("trace/spent", NULL, NULL);
    CU_add_test(suite, "calls take what was measured", test_calls_take_what_was_measured);
    CU_add_test(suite, "calls of others make none dearer", test_calls_of_others_make_none_dearer);
    CU_add_test(suite, "all take no longer than the program ran",
                test_all_take_no_longer_than_the_program_ran);
    CU_add_test(suite, "one decision reaches the limit", test_one_decision_reaches_the_limit);
    CU_add_test(suite, "the shortest calls are counted first",
                test_the_shortest_calls_are_counted_first);
    CU_add_test(suite, "what is too hot is off", test_what_is_too_hot_is_off);
    CU_add_test(suite, "what fits is left alone", test_what_fits_is_left_alone);
    CU_add_test(suite, "room", test_room);
    CU_add_test(suite, "lately", test_lately);
}
