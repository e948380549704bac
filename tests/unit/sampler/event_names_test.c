#include "sampler/perf/event_names.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_names_are_found(void)
{
    const struct perf_event_name *clock = perf_event_name_find("cpu-clock");
    CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
    CU_ASSERT_TRUE(clock->is_clock);
    CU_ASSERT_FALSE(perf_event_name_find("cycles")->is_clock);
    CU_ASSERT_PTR_NULL(perf_event_name_find("cpu-cloc"));
    CU_ASSERT_PTR_NULL(perf_event_name_find(""));
}

static void test_list_holds_what_is_found(void)
{
    char list[1024];
    perf_event_name_list(list, sizeof list);
    size_t names = 0;
    char *save = NULL;
    for (char *name = strtok_r(list, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
        CU_ASSERT_PTR_NOT_NULL(perf_event_name_find(name));
        names++;
    }
    CU_ASSERT_TRUE(names >= 8);
}

static void test_list_is_cut_to_the_buffer(void)
{
    char list[8] = "#######";
    perf_event_name_list(list, 5);
    CU_ASSERT_STRING_EQUAL(list, "cpu-");
    CU_ASSERT_EQUAL(list[5], '#');
}

void sprof_suite_sampler_event_names(void);
void sprof_suite_sampler_event_names(void)
{
    CU_pSuite suite = CU_add_suite("sampler/event_names", NULL, NULL);
    CU_add_test(suite, "names are found", test_names_are_found);
    CU_add_test(suite, "the list holds what is found", test_list_holds_what_is_found);
    CU_add_test(suite, "the list is cut to the buffer", test_list_is_cut_to_the_buffer);
}
