/* Callees outside of the traced modules, in a line. */
#include "report/dataset_parts.h"
#include "tests/unit/report/recorded.h"

/* Names are as short as in tables. */
static void test_callees(void)
{
    static const char longer[] =
        "UPDATE function SET name = 'std::vector<int, std::allocator<int> >::push_back(int const&)'"
        " WHERE name = 'A2'";
    const struct place place = place_make();
    struct sprof_str out = {0};
    struct store *store = example_changed(&place, longer);
    CU_ASSERT_EQUAL(report_outside_append(&out, store, 1, NULL), 0);
    assert_text(out.text, "[prog] std::vector::push_back 700 ns");
    sprof_str_clear(&out);
    CU_ASSERT_EQUAL(report_outside_append(&out, store, 2, NULL), 0);
    CU_ASSERT_EQUAL(out.length, 0);
    sprof_str_release(&out);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    place_remove(&place);
}

void sprof_suite_report_outside(void);
void sprof_suite_report_outside(void)
{
    CU_pSuite suite = CU_add_suite("report/outside", NULL, NULL);
    CU_add_test(suite, "callees", test_callees);
}
