#include "unwind/table.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>

#define BASE UINT64_C(0x400000)

enum { ROWS_MAX = 40000 };

/* Rows of three rules, one after the other, none like the one before. */
struct packed {
    struct unwind_table *table;
    struct unwind_rows rows;
};

static uint64_t rule_of_row(size_t row)
{
    return unwind_rule_cfa(false, (int32_t)(row % 3 + 1) * 8);
}

static struct packed begin(void)
{
    struct packed packed = {.table = calloc(1, sizeof *packed.table)};
    packed.table->base = BASE;
    packed.rows.start = calloc(ROWS_MAX, sizeof *packed.rows.start);
    packed.rows.rule = calloc(ROWS_MAX, sizeof *packed.rows.rule);
    return packed;
}

static void add(struct packed *packed, uint32_t start)
{
    struct unwind_rows *rows = &packed->rows;
    CU_ASSERT_EQUAL_FATAL(unwind_rule_set_intern(&packed->table->rules, rule_of_row(rows->count),
                                                 &rows->rule[rows->count]),
                          0);
    rows->start[rows->count++] = start;
}

/* Every row is found again, and at both ends of it, its rule. */
static void check(struct packed *packed, uint32_t span)
{
    const struct unwind_rows *rows = &packed->rows;
    struct unwind_table *table = packed->table;
    table->span = span;
    CU_ASSERT_EQUAL_FATAL(unwind_table_pack(table, rows), 0);
    uint64_t start = 0, rule = 0, from = 0;
    for (size_t i = 0; i < rows->count; i++, from = start + 1) {
        const uint32_t end = i + 1 < rows->count ? rows->start[i + 1] : span;
        CU_ASSERT_FATAL(unwind_table_row_from(table, from, &start, &rule));
        CU_ASSERT_EQUAL_FATAL(start, BASE + rows->start[i]);
        CU_ASSERT_EQUAL(rule, rule_of_row(i));
        CU_ASSERT_EQUAL(unwind_table_lookup(table, start), rule_of_row(i));
        CU_ASSERT_EQUAL(unwind_table_lookup(table, BASE + end - 1), rule_of_row(i));
    }
    CU_ASSERT_FALSE(unwind_table_row_from(table, from, &start, &rule));
    CU_ASSERT_EQUAL(start, BASE + rows->start[rows->count - 1]); /* untouched where none is left */
    CU_ASSERT_EQUAL(unwind_table_lookup(table, BASE - 1), UNWIND_RULE_GAP);
    CU_ASSERT_EQUAL(unwind_table_lookup(table, BASE + span), UNWIND_RULE_GAP);
    free(rows->start);
    free(rows->rule);
    unwind_table_free(table);
}

static void test_a_row_a_byte(void)
{
    struct packed packed = begin();
    for (uint32_t at = 0; at < 20000; at++)
        add(&packed, at);
    check(&packed, 20000);
}

/* As many in one place as make pages follow each other, none before and behind it. */
static void test_a_crowd(void)
{
    struct packed packed = begin();
    add(&packed, 0);
    for (uint32_t at = 5000; at < 5100; at++)
        add(&packed, at);
    add(&packed, 40000);
    check(&packed, 90000);
}

/* One row less than fills a page, just that many, and one more. */
static void test_full_pages(void)
{
    for (uint32_t count = UNWIND_PAGE_ROWS - 1; count <= UNWIND_PAGE_ROWS + 1; count++) {
        struct packed packed = begin();
        for (uint32_t i = 0; i < count; i++)
            add(&packed, i * 7);
        check(&packed, count * 7);
    }
}

/* Rows that begin where blocks and pages do. */
static void test_at_the_edges(void)
{
    struct packed packed = begin();
    for (uint32_t at = 0; at < 20u << UNWIND_BLOCK_SHIFT; at += 1u << (UNWIND_BLOCK_SHIFT - 6))
        add(&packed, at);
    check(&packed, 20u << UNWIND_BLOCK_SHIFT);
}

/* What is far apart takes little memory. */
static void test_far_apart(void)
{
    struct packed packed = begin();
    add(&packed, 0);
    add(&packed, 100);
    add(&packed, UINT32_MAX - 10);
    packed.table->span = UINT32_MAX;
    struct unwind_table *table = packed.table;
    CU_ASSERT_EQUAL_FATAL(unwind_table_pack(table, &packed.rows), 0);
    CU_ASSERT(table->facts.bytes < 8 << 20);
    free(table->blocks);
    free(table->pages);
    check(&packed, UINT32_MAX);
}

void sprof_suite_unwind_table_pack(void);
void sprof_suite_unwind_table_pack(void)
{
    CU_pSuite suite = CU_add_suite("unwind/table_pack", NULL, NULL);
    CU_add_test(suite, "a row a byte", test_a_row_a_byte);
    CU_add_test(suite, "a crowd", test_a_crowd);
    CU_add_test(suite, "full pages", test_full_pages);
    CU_add_test(suite, "rows at the edges of pages", test_at_the_edges);
    CU_add_test(suite, "rows far apart", test_far_apart);
}
