#include "symbolize/builder.h"

#include <CUnit/CUnit.h>

static void test_chains_and_functions(void)
{
    struct builder builder = {0};
    struct symbolize_result result;
    uint32_t found = 9;
    const uint64_t key = symbolize_builder_physical_key(0x1000);
    CU_ASSERT_FALSE(symbolize_builder_find(&builder, key, &found));
    const struct symbolize_function function = {.linkage_name = "f", .start = 0x1000, .size = 8};
    CU_ASSERT_EQUAL(symbolize_builder_add(&builder, key, &function), 0);
    CU_ASSERT_TRUE(symbolize_builder_find(&builder, key, &found));
    CU_ASSERT_EQUAL(found, 0);
    symbolize_builder_open_chain(&builder);
    symbolize_builder_open_chain(&builder);
    symbolize_builder_add_frame(&builder, 0, "a.c", 3);
    symbolize_builder_add_frame(&builder, 0, "a.c", 4);
    symbolize_builder_open_chain(&builder);
    symbolize_builder_add_frame(&builder, 0, NULL, 0);
    CU_ASSERT_EQUAL_FATAL(symbolize_builder_finish(&builder, &result, NULL), 0);
    CU_ASSERT_EQUAL(result.address_count, 3);
    const uint32_t first[] = {0, 0, 2, 3};
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(result.first[i], first[i]);
    CU_ASSERT_STRING_EQUAL(result.functions[0].name, "f");
    CU_ASSERT_PTR_EQUAL(result.frames[0].file, result.frames[1].file);
    CU_ASSERT_PTR_NULL(result.frames[2].file);
    symbolize_result_release(&result);
    CU_ASSERT_EQUAL(result.frame_count, 0);
}

static void test_keys_differ(void)
{
    CU_ASSERT_NOT_EQUAL(symbolize_builder_physical_key(1), symbolize_builder_physical_key(2));
    CU_ASSERT_NOT_EQUAL(builder_inlined_key("f", "a.c", 1), builder_inlined_key("f", "a.c", 2));
    CU_ASSERT_NOT_EQUAL(builder_inlined_key("f", "a.c", 1), builder_inlined_key("f", "b.c", 1));
    CU_ASSERT_NOT_EQUAL(builder_inlined_key("f", "a.c", 1), builder_inlined_key("g", "a.c", 1));
    CU_ASSERT_EQUAL(builder_inlined_key("f", NULL, 1), builder_inlined_key("f", NULL, 1));
}

static void test_failure_is_told_at_the_end(void)
{
    struct builder builder = {0};
    struct symbolize_result result;
    struct sprof_error error = {0};
    symbolize_builder_open_chain(&builder);
    builder.failed = true;
    CU_ASSERT_EQUAL(symbolize_builder_finish(&builder, &result, &error), SPROF_ENOMEM);
    CU_ASSERT_PTR_NULL(result.first);
    symbolize_result_release(&result);
}

void sprof_suite_symbolize_builder(void);
void sprof_suite_symbolize_builder(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/builder", NULL, NULL);
    CU_add_test(suite, "chains and functions", test_chains_and_functions);
    CU_add_test(suite, "keys differ", test_keys_differ);
    CU_add_test(suite, "failure is told at the end", test_failure_is_told_at_the_end);
}
