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

static void test_what_is_not_known_comes_last(void)
{
    static const uint64_t counts[] = {7, TABLE_UNKNOWN, 7, 0, TABLE_UNKNOWN, 9};
    static const char *const names[] = {"c", "b", "a", NULL, "x", "y"};
    struct table table = {.ordered = true};
    uint32_t *order;
    char number[NUMBER_BYTES];
    report_table_column(&table, (struct table_column){.key = "time_ns", .kind = TABLE_NS});
    report_table_column(&table, (struct table_column){.key = "name", .kind = TABLE_NAME});
    for (size_t i = 0; i < 6; i++) {
        report_table_put_count(&table, counts[i]);
        report_table_put_text(&table, names[i]);
    }
    /* Equal rows stay as they were made. */
    CU_ASSERT_EQUAL_FATAL(report_table_sort(&table, "time_ns", &order, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(order, (uint32_t[]){5, 0, 2, 3, 1, 4}, 6 * sizeof *order), 0);
    free(order);
    CU_ASSERT_EQUAL_FATAL(report_table_sort(&table, "time_ns:asc", &order, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(order, (uint32_t[]){3, 0, 2, 5, 1, 4}, 6 * sizeof *order), 0);
    free(order);
    CU_ASSERT_EQUAL_FATAL(report_table_sort(&table, "name:desc", &order, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(order, (uint32_t[]){5, 4, 0, 1, 2, 3}, 6 * sizeof *order), 0);
    free(order);
    CU_ASSERT_STRING_EQUAL(
        report_table_number(number, &table.columns[0], report_table_cell(&table, 1, 0)), "");
    CU_ASSERT_STRING_EQUAL(
        report_table_number(number, &table.columns[0], report_table_cell(&table, 5, 0)), "9");
    report_table_release(&table);
}

void sprof_suite_report_table(void);
void sprof_suite_report_table(void)
{
    CU_pSuite suite = CU_add_suite("report/table", NULL, NULL);
    CU_add_test(suite, "what rows are sorted by", test_what_rows_are_sorted_by);
    CU_add_test(suite, "what is not known comes last", test_what_is_not_known_comes_last);
}
