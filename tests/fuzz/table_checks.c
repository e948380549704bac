#include "tests/fuzz/table_checks.h"

#include "tests/fuzz/fuzz.h"
#include "unwind/table.h"

static void check_rows(const struct unwind_table *table)
{
    uint64_t start, rule, before = 0;
    size_t rows = 0;
    for (uint64_t from = 0; unwind_table_row_from(table, from, &start, &rule); from = start + 1) {
        FUZZ_REQUIRE(start >= from);
        FUZZ_REQUIRE(unwind_table_lookup(table, start) == rule);
        FUZZ_REQUIRE(!rows || rule != before);
        FUZZ_REQUIRE(!rows || unwind_table_lookup(table, start - 1) == before);
        before = rule;
        rows++;
    }
    FUZZ_REQUIRE(rows == unwind_table_facts(table).rows);
}

static void check_functions(const struct unwind_table *table)
{
    for (size_t i = 0; i < table->function_count; i++) {
        const struct unwind_function *function = &table->functions[i];
        struct unwind_range range;
        FUZZ_REQUIRE(function->start < function->end);
        FUZZ_REQUIRE(!i || table->functions[i - 1].end <= function->start);
        FUZZ_REQUIRE(unwind_table_function(table, table->base + function->end - 1, &range));
        FUZZ_REQUIRE(range.start == table->base + function->start);
    }
}

void fuzz_table(const struct unwind_source *source)
{
    const size_t bytes = source->eh_frame.size + source->debug_frame.size + source->gopclntab.size;
    struct unwind_table *table = NULL;
    struct sprof_error error = {0};
    const int code = unwind_table_build(&table, source, &error);
    FUZZ_REQUIRE(!code == !!table);
    FUZZ_REQUIRE(!code || error.message[0]);
    if (!table)
        return;
    check_rows(table);
    check_functions(table);
    FUZZ_REQUIRE(unwind_table_facts(table).rows <= UNWIND_TABLE_ROWS_MAX);
    /* 2 MiB: the blocks of 4 GiB. */
    FUZZ_REQUIRE(unwind_table_facts(table).bytes < 100 * bytes + (2 << 20) + (64 << 10));
    unwind_table_free(table);
}
