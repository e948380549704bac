#include "unwind/table.h"

#include <stdlib.h>

enum { SCAN_ROWS = 16 }; /* a longer stretch is searched by halves first */

/* The last row of [low, high] that begins at or before `offset`; row `low` does. */
static size_t last_row(const uint32_t *pc, size_t low, size_t high, uint32_t offset)
{
    while (high - low > SCAN_ROWS) {
        const size_t middle = low + (high - low) / 2;
        if (pc[middle] <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    while (low < high && pc[low + 1] <= offset)
        low++;
    return low;
}

uint64_t unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr)
{
    const uint64_t distance = vaddr - table->base;
    if (distance >= table->span)
        return UNWIND_RULE_GAP;
    const uint32_t offset = (uint32_t)distance;
    const uint32_t *page = &table->page[offset >> table->shift];
    __builtin_prefetch(&table->row_rule[page[0]]); /* arrives while the rows are scanned */
    const size_t row = last_row(table->pc, page[0], page[1], offset);
    return table->rules.rules[table->row_rule[row]];
}

int unwind_table_index(struct unwind_table *table)
{
    table->shift = 8;
    while ((table->span >> table->shift) > table->rows * 4 + 1024)
        table->shift++;
    const size_t pages = ((size_t)(table->span - 1) >> table->shift) + 1;
    table->page = malloc((pages + 1) * sizeof *table->page);
    if (!table->page)
        return SPROF_ENOMEM;
    size_t row = 0;
    for (size_t page = 0; page < pages; page++) {
        const uint64_t start = (uint64_t)page << table->shift;
        while (row + 1 < table->rows && table->pc[row + 1] <= start)
            row++;
        table->page[page] = (uint32_t)row;
    }
    table->page[pages] = (uint32_t)(table->rows - 1);
    return 0;
}

/* How many functions begin at or before an offset. */
static size_t functions_up_to(const struct unwind_table *table, uint64_t offset)
{
    size_t low = 0, high = table->function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->functions[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct unwind_function *unwind_table_function_at(const struct unwind_table *table,
                                                       uint64_t vaddr)
{
    const uint64_t offset = vaddr - table->base;
    const size_t count = functions_up_to(table, offset);
    const struct unwind_function *function = count ? &table->functions[count - 1] : NULL;
    return function && offset < function->end ? function : NULL;
}

bool unwind_table_starts_between(const struct unwind_table *table, uint64_t low, uint64_t high)
{
    const uint64_t first = low < table->base ? 0 : low - table->base + 1;
    const size_t before = first ? functions_up_to(table, first - 1) : 0;
    return high >= table->base && functions_up_to(table, high - table->base) > before;
}

bool unwind_table_function(const struct unwind_table *table, uint64_t vaddr,
                           struct unwind_range *range)
{
    const struct unwind_function *function = unwind_table_function_at(table, vaddr);
    if (!function)
        return false;
    *range = (struct unwind_range){table->base + function->start, table->base + function->end};
    return true;
}

bool unwind_table_row(const struct unwind_table *table, size_t index, struct unwind_row *row)
{
    if (index >= table->rows)
        return false;
    row->vaddr = table->base + table->pc[index];
    unwind_rule_text(table->rules.rules[table->row_rule[index]], row->rule, sizeof row->rule);
    return true;
}

struct unwind_table_facts unwind_table_facts(const struct unwind_table *table)
{
    return table->facts;
}

void unwind_table_free(struct unwind_table *table)
{
    if (!table)
        return;
    free(table->page);
    free(table->pc);
    free(table->row_rule);
    free(table->functions);
    for (size_t i = 0; i < UNWIND_KEPTS; i++)
        free(table->kept[i].data);
    rule_set_release(&table->rules);
    free(table);
}
