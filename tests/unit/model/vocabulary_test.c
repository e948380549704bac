#include "model/vocabulary.h"

#include <CUnit/CUnit.h>

/* What recordings of every version hold. */
static void test_numbers_stay(void)
{
    CU_ASSERT_STRING_EQUAL(model_mode_words[2], "app");
    CU_ASSERT_STRING_EQUAL(model_kind_words[3], "kernel");
    CU_ASSERT_STRING_EQUAL(model_found_by_words[4], "scan");
    CU_ASSERT_STRING_EQUAL(model_found_by_words[7], "leaf");
    CU_ASSERT_STRING_EQUAL(model_end_words[0], "root");
    CU_ASSERT_STRING_EQUAL(model_end_words[6], "no-stack");
}

static void test_words(void)
{
    CU_ASSERT_STRING_EQUAL(model_mode_text(MODEL_MODE_FULL), "full");
    CU_ASSERT_STRING_EQUAL(model_kind_text(MODEL_KIND_JIT), "jit");
    CU_ASSERT_STRING_EQUAL(model_found_by_text(MODEL_BY_PLT), "plt");
    CU_ASSERT_STRING_EQUAL(model_end_text(MODEL_END_NO_CFI), "no-cfi");
}

static void test_numbers_out_of_range(void)
{
    CU_ASSERT_STRING_EQUAL(model_mode_text((enum model_mode)3), "?");
    CU_ASSERT_STRING_EQUAL(model_kind_text((enum model_kind)5), "?");
    CU_ASSERT_STRING_EQUAL(model_found_by_text((enum model_found_by)8), "?");
    CU_ASSERT_STRING_EQUAL(model_end_text((enum model_end)255), "?");
}

static void test_modes(void)
{
    CU_ASSERT_EQUAL(model_mode_of("pc"), MODEL_MODE_PC);
    CU_ASSERT_EQUAL(model_mode_of("app"), MODEL_MODE_APP);
    CU_ASSERT_EQUAL(model_mode_of("fuller"), MODEL_MODE_FULL);
    CU_ASSERT_EQUAL(model_mode_of(NULL), MODEL_MODE_FULL);
    CU_ASSERT_STRING_EQUAL(model_mode_options_text(MODEL_MODE_PC, true, false), "pc --frame app");
    CU_ASSERT_STRING_EQUAL(model_mode_options_text(MODEL_MODE_APP, false, true),
                           "app --app-interior drop");
    CU_ASSERT_STRING_EQUAL(model_mode_options_text(MODEL_MODE_FULL, true, true), "full");
}

static void test_application_kinds(void)
{
    CU_ASSERT_TRUE(model_kind_is_app(MODEL_KIND_APP));
    CU_ASSERT_TRUE(model_kind_is_app(MODEL_KIND_JIT));
    CU_ASSERT_FALSE(model_kind_is_app(MODEL_KIND_NONE));
    CU_ASSERT_FALSE(model_kind_is_app(MODEL_KIND_SYSTEM));
    CU_ASSERT_FALSE(model_kind_is_app(MODEL_KIND_KERNEL));
}

void sprof_suite_model_vocabulary(void);
void sprof_suite_model_vocabulary(void)
{
    CU_pSuite suite = CU_add_suite("model/vocabulary", NULL, NULL);
    CU_add_test(suite, "numbers stay", test_numbers_stay);
    CU_add_test(suite, "words", test_words);
    CU_add_test(suite, "numbers out of range", test_numbers_out_of_range);
    CU_add_test(suite, "modes", test_modes);
    CU_add_test(suite, "application kinds", test_application_kinds);
}
