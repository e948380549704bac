#include "sampler/agent/events.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void add(struct sigprof_events *events, uint64_t time_ns, const char *name)
{
    struct model_record record = {.type = MODEL_RECORD_COMM, .time_ns = time_ns};
    record.comm.name = name;
    CU_ASSERT_EQUAL(sigprof_events_add(events, &record), 0);
}

static void expect(struct sigprof_events *events, uint64_t time_ns, const char *name)
{
    struct model_record record;
    CU_ASSERT_EQUAL_FATAL(sigprof_events_time_ns(events), time_ns);
    sigprof_events_take(events, &record);
    CU_ASSERT_STRING_EQUAL(record.comm.name, name);
}

static void test_order_of_time_then_of_adding(void)
{
    struct sigprof_events events = {0};
    char name[] = "first";
    add(&events, 20, "later");
    add(&events, 10, name);
    strcpy(name, "other"); /* names are copied */
    add(&events, 10, "second");
    expect(&events, 10, "first");
    add(&events, 5, "late");
    expect(&events, 5, "late");
    expect(&events, 10, "second");
    expect(&events, 20, "later");
    CU_ASSERT_EQUAL(sigprof_events_time_ns(&events), UINT64_MAX);
    add(&events, 1, "never taken");
    sigprof_events_release(&events);
}

static void test_many(void)
{
    struct sigprof_events events = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        add(&events, i, "name");
        if (i % 2)
            expect(&events, i / 2, "name");
    }
    CU_ASSERT_TRUE(events.items.capacity < 8192); /* what was taken makes room */
    sigprof_events_release(&events);
}

void sprof_suite_sampler_sigprof_events(void);

void sprof_suite_sampler_sigprof_events(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_events", NULL, NULL);
    CU_ADD_TEST(suite, test_order_of_time_then_of_adding);
    CU_ADD_TEST(suite, test_many);
}
