#include "sampler/perf/event_list.h"

#include <CUnit/CUnit.h>
#include <linux/perf_event.h>
#include <string.h>

/* The names, modifiers and rates that a list is read as. */
static void test_a_list_is_cut_at_its_commas(void)
{
    struct perf_event_list events = {0};
    CU_ASSERT_EQUAL_FATAL(
        perf_event_list_parse(
            &events, "cpu-clock,page-faults/period=7/u,cpu-clock/freq=50/:k,context-switches:uk",
            NULL),
        0);
    CU_ASSERT_EQUAL_FATAL(events.count, 4);
    const struct perf_event *event = events.items;
    CU_ASSERT_STRING_EQUAL(event[0].name, "cpu-clock");
    CU_ASSERT_TRUE(event[0].is_clock && !event[0].period && !event[0].frequency_hz);
    CU_ASSERT_STRING_EQUAL(event[1].name, "page-faults:u");
    CU_ASSERT_EQUAL(event[1].period, 7);
    CU_ASSERT_TRUE(event[1].exclude_kernel && !event[1].exclude_user);
    CU_ASSERT_STRING_EQUAL(event[2].name, "cpu-clock:k");
    CU_ASSERT_EQUAL(event[2].frequency_hz, 50);
    CU_ASSERT_TRUE(event[2].exclude_user && !event[2].exclude_kernel);
    CU_ASSERT_STRING_EQUAL(event[3].name, "context-switches");
    CU_ASSERT_FALSE(event[3].exclude_user || event[3].exclude_kernel);
    perf_event_list_release(&events);
}

/* Counters of the processor by number and by cache, and what is asked of them. */
static void test_counters_and_their_modifiers(void)
{
    struct perf_event_list events = {0};
    CU_ASSERT_EQUAL_FATAL(
        perf_event_list_parse(
            &events, "r1A8:u,rff0000c4/period=100/ppp,L1-dcache-load-misses,LLC-stores:kp,cycles:h",
            NULL),
        0);
    CU_ASSERT_EQUAL_FATAL(events.count, 5);
    const struct perf_event *event = events.items;
    CU_ASSERT_STRING_EQUAL(event[0].name, "r1A8:u");
    CU_ASSERT_TRUE(event[0].type == PERF_TYPE_RAW && event[0].config == 0x1a8);
    CU_ASSERT_TRUE(event[0].exclude_kernel && !event[0].precise && !event[0].has_hypervisor);
    CU_ASSERT_STRING_EQUAL(event[1].name, "rff0000c4:ppp");
    CU_ASSERT_TRUE(event[1].config == 0xff0000c4 && event[1].precise == 3);
    CU_ASSERT_EQUAL(event[1].period, 100);
    CU_ASSERT_TRUE(event[2].type == PERF_TYPE_HW_CACHE && event[2].config == 0x10000);
    CU_ASSERT_STRING_EQUAL(event[3].name, "LLC-stores:kp");
    CU_ASSERT_TRUE(event[3].config == 0x102 && event[3].exclude_user && event[3].precise == 1);
    CU_ASSERT_STRING_EQUAL(event[4].name, "cycles:h");
    CU_ASSERT_TRUE(event[4].has_hypervisor && event[4].exclude_user && event[4].exclude_kernel);
    perf_event_list_release(&events);
}

static void test_what_is_no_list_is_refused(void)
{
    static const struct {
        const char *text, *word; /* in the message */
    } cases[] = {
        {"cpu-clok", "near it: cpu-clock"},
        {"", "empty place"},
        {"cpu-clock,", "empty place"},
        {",cpu-clock", "empty place"},
        {"cpu-clock,,page-faults", "empty place"},
        {"cpu-clock,cpu-clock", "given twice"},
        {"page-faults:u,page-faults/period=3/u", "given twice"},
        {"page-faults:x", "no modifier"},
        {"page-faults:p", "counters of the processor"},
        {"cpu-clock:h", "counters of the processor"},
        {"cycles:pppp", "no modifier"},
        {"r", "unknown event"},
        {"r11111111111111111", "unknown event"},
        {"L1-dcache-", "unknown event"},
        {"r1a8,r1a8", "given twice"},
        {"page-faults/period=3", "cannot be read"},
        {"page-faults/period=/", "no term"},
        {"page-faults/period=-1/", "no term"},
        {"page-faults/weight=3/", "is for tracepoints"},
        {"page-faults/weigh=3/", "no term"},
        {"cpu-clock/event=3/", "no term"},
        {"page-faults/period=3,freq=4/", "exclude each other"},
        {"context-switches:u", "happens in the kernel"},
        {"zzzzzzzzzz", "known are: cpu-clock"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_event_list events = {0};
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(perf_event_list_parse(&events, cases[i].text, &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
        perf_event_list_release(&events);
    }
}

/* Patterns stand for what tracefs has, sorted; what happens in the kernel is not in user mode. */
static void test_tracepoints_are_found_by_name_and_pattern(void)
{
    struct perf_event_list events = {0};
    struct sprof_error error = {0};
    const int result = perf_event_list_parse(
        &events, "sched:sched_switch,sched:sched_process_e*/period=5/", &error);
    if (result == SPROF_EPERMISSION || result == SPROF_EUNSUPPORTED) {
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "run ")); /* the cure */
        printf("(no tracepoints here) ");
        return;
    }
    CU_ASSERT_EQUAL_FATAL(result, 0);
    CU_ASSERT_TRUE_FATAL(events.count >= 3);
    CU_ASSERT_STRING_EQUAL(events.items[0].name, "sched:sched_switch");
    CU_ASSERT_STRING_EQUAL(events.items[1].name, "sched:sched_process_exec");
    CU_ASSERT_STRING_EQUAL(events.items[2].name, "sched:sched_process_exit");
    CU_ASSERT_EQUAL(events.items[1].type, PERF_TYPE_TRACEPOINT);
    CU_ASSERT_EQUAL(events.items[1].period, 5);
    CU_ASSERT_NOT_EQUAL(events.items[0].config, events.items[1].config);
    perf_event_list_release(&events);
    static const char *const wrong[][2] = {
        {"sched:sched_switch:u", "happens in the kernel"},
        {"sched:sched_swich", "near it: sched:sched_switch"},
        {"..:sched", "unknown event"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CU_ASSERT_EQUAL(perf_event_list_parse(&events, wrong[i][0], &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, wrong[i][1]));
        perf_event_list_release(&events);
    }
}

void sprof_suite_sampler_event_list(void);
void sprof_suite_sampler_event_list(void)
{
    CU_pSuite suite = CU_add_suite("sampler/event_list", NULL, NULL);
    CU_add_test(suite, "a list is cut at its commas", test_a_list_is_cut_at_its_commas);
    CU_add_test(suite, "counters and their modifiers", test_counters_and_their_modifiers);
    CU_add_test(suite, "what is no list is refused", test_what_is_no_list_is_refused);
    CU_add_test(suite, "tracepoints are found by name and pattern",
                test_tracepoints_are_found_by_name_and_pattern);
}
