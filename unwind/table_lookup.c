/* Looks rules, rows and functions up in a table. */
#include "unwind/table.h"

#include <stdlib.h>

/* How many of a page's starts lie at or before an offset. */
static inline int starts_up_to(const struct unwind_page *page, int16_t offset)
{
    int count = 0; /* gcc 12 gets a sum of 16 bits wrong at -O3 */
    for (size_t i = 0; i < UNWIND_PAGE_ROWS + 2; i++)
        count += page->start[i] <= offset;
    return count;
}

/* Where the page that holds an offset begins; the next one begins *size behind it. */
static uint32_t page_start(const struct unwind_table *table, uint32_t offset, uint32_t *size)
{
    *size = 1u << table->blocks[offset >> UNWIND_BLOCK_SHIFT].shift;
    return offset & ~(*size - 1);
}

uint64_t unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr)
{
    const uint64_t distance = vaddr - table->base;
    if (distance >= table->span)
        return UNWIND_RULE_GAP;
    const uint32_t offset = (uint32_t)distance;
    uint32_t size;
    const int16_t within = (int16_t)(offset - page_start(table, offset, &size));
    const struct unwind_page *page = unwind_table_page(table, offset);
    int rows = starts_up_to(page, within);
    while (rows > UNWIND_PAGE_ROWS) {
        page = unwind_table_more(table, page);
        rows = page ? starts_up_to(page, within) : 0;
    }
    return rows ? unwind_table_rule(table, page, (size_t)rows - 1) : UNWIND_RULE_GAP;
}

/* Looks through one page; what only goes on from the page before is no beginning. */
static bool row_in_page(const struct unwind_table *table, uint32_t from, uint64_t *start,
                        uint64_t *rule)
{
    uint32_t size;
    const uint32_t first = page_start(table, from, &size);
    const struct unwind_page *page = unwind_table_page(table, from);
    for (size_t i = 0; page->start[i] != UNWIND_NO_START; i++) {
        if (i == UNWIND_PAGE_ROWS) {
            page = unwind_table_more(table, page);
            if (!page)
                return false;
            i = 0;
        }
        const uint32_t offset = first + (uint16_t)page->start[i];
        const uint64_t vaddr = table->base + offset, found = unwind_table_rule(table, page, i);
        const bool begins =
            offset > first || !offset || unwind_table_lookup(table, vaddr - 1) != found;
        if (offset < from || !begins)
            continue;
        *start = vaddr;
        *rule = found;
        return true;
    }
    return false;
}

bool unwind_table_row_from(const struct unwind_table *table, uint64_t vaddr, uint64_t *start,
                           uint64_t *rule)
{
    uint32_t size;
    for (uint64_t from = vaddr < table->base ? 0 : vaddr - table->base; from < table->span;
         from = (uint64_t)page_start(table, (uint32_t)from, &size) + size) {
        const bool is_plain = table->blocks[from >> UNWIND_BLOCK_SHIFT].is_plain;
        if ((!is_plain || !from) && row_in_page(table, (uint32_t)from, start, rule))
            return true;
    }
    return false;
}

/* How many functions begin at or before an offset. */
static size_t functions_up_to(const struct unwind_table *table, uint64_t offset)
{
    size_t low = 0, high = table->function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (unwind_table_nth(table, middle)->start <= offset)
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
    const struct unwind_function *function = count ? unwind_table_nth(table, count - 1) : NULL;
    return function && offset >= function->start && offset < function->end ? function : NULL;
}

const struct unwind_kept_section *unwind_table_kept(const struct unwind_table *table,
                                                    const struct unwind_function *function)
{
    const struct unwind_kept_section *kept =
        function->kept_in < UNWIND_KEPTS ? &table->kept[function->kept_in] : NULL;
    if (!kept || function->entry >= kept->size)
        return NULL;
    if (table->stored)
        unwind_stored_read(table->stored, kept->data, kept->size);
    return kept;
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

bool unwind_table_row(const struct unwind_table *table, uint64_t vaddr, struct unwind_row *row)
{
    uint64_t rule;
    if (!unwind_table_row_from(table, vaddr, &row->vaddr, &rule))
        return false;
    unwind_rule_text(rule, row->rule, sizeof row->rule);
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
    if (table->stored) {
        unwind_stored_free(table->stored);
        free(table);
        return;
    }
    free(table->blocks);
    free(table->pages);
    free(table->functions);
    for (size_t i = 0; i < UNWIND_KEPTS; i++)
        free(table->kept[i].data);
    unwind_rule_set_release(&table->rules);
    free(table);
}
