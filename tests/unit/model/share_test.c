#include "model/paths.h"

#include <CUnit/CUnit.h>

/* Expected values by hand from Wilson's formula: for n = 100 and p = 0.5 the bounds are
 * (0.5 + 1.92073 / 100 ± 1.95996 · sqrt(0.0025 + 0.0000960365)) / 1.0384146. */
static void test_wilson(void)
{
    const struct model_interval half = model_share_interval(50, 100, 100);
    CU_ASSERT_DOUBLE_EQUAL(half.low, 0.403832, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(half.high, 0.596168, 1e-6);
    const struct model_interval none = model_share_interval(0, 100, 100);
    CU_ASSERT_EQUAL(none.low, 0);
    CU_ASSERT_DOUBLE_EQUAL(none.high, 0.036993, 1e-6);
    const struct model_interval all = model_share_interval(100, 100, 100);
    CU_ASSERT_DOUBLE_EQUAL(all.low, 0.963007, 1e-6);
    CU_ASSERT_EQUAL(all.high, 1);
}

static void test_nothing_known(void)
{
    const struct model_interval unknown = model_share_interval(0, 0, 0);
    CU_ASSERT_EQUAL(unknown.low, 0);
    CU_ASSERT_EQUAL(unknown.high, 1);
}

static void test_effective_samples(void)
{
    CU_ASSERT_DOUBLE_EQUAL(model_effective_samples(100, 100), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(model_effective_samples(700, 100 * 49), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(model_effective_samples(4, 10), 1.6, 1e-9); /* weights 1 and 3 */
    CU_ASSERT_EQUAL(model_effective_samples(0, 0), 0);
}

void sprof_suite_model_share(void);
void sprof_suite_model_share(void)
{
    CU_pSuite suite = CU_add_suite("model/share", NULL, NULL);
    CU_add_test(suite, "Wilson's interval", test_wilson);
    CU_add_test(suite, "nothing known", test_nothing_known);
    CU_add_test(suite, "effective samples", test_effective_samples);
}
