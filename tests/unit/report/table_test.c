/* Columns and the order of rows. */
#include "report/table.h"
#include "tests/unit/report/datasets.h"

static void check_sort_column(const struct table_column *columns, size_t count, size_t expected)
{
    struct table table = {0};
    size_t column;
    bool ascending;
    for (size_t i = 0; i < count; i++)
        report_table_column(&table, columns[i]);
    CU_ASSERT_EQUAL(report_table_sort_column(&table, NULL, &column, &ascending, NULL), 0);
    CU_ASSERT_EQUAL(column, expected);
    CU_ASSERT_FALSE(ascending);
    report_table_release(&table);
}

static void test_what_rows_are_sorted_by(void)
{
    static const struct table_column name = {.title = "n", .key = "n", .kind = TABLE_NAME},
                                     count = {.title = "c", .key = "c", .kind = TABLE_COUNT},
                                     share = {.title = "s", .key = "s", .kind = TABLE_PERCENT};
    check_sort_column((struct table_column[]){name, count, share, share}, 4, 2);
    check_sort_column((struct table_column[]){name, name, count, count}, 4, 2);
    check_sort_column(&name, 1, 0);
}

void sprof_suite_report_table(void);
void sprof_suite_report_table(void)
{
    CU_pSuite suite = CU_add_suite("report/table", NULL, NULL);
    CU_add_test(suite, "what rows are sorted by", test_what_rows_are_sorted_by);
}
