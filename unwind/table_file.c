/* Tables as bytes that can be stored, and back after everything in them has been checked. */
#include "unwind/table.h"

#include <stdlib.h>
#include <string.h>

/* What the bytes begin with; the arrays follow in the order of `enum part`, each at a multiple of
 * ALIGNMENT. Numbers are in the machine's own byte order. */
enum part { BLOCKS, PAGES, RULES, FUNCTIONS, KEPT_EH_FRAME, KEPT_DEBUG_FRAME, PARTS };
struct header {
    uint64_t version, base, span;
    uint64_t count[PARTS];
    uint64_t kept_vaddr[UNWIND_KEPTS], text_vaddr, got_vaddr;
    uint64_t rows, complex_rows, bad_functions;
};

enum { ALIGNMENT = 64 };

static const size_t item_sizes[PARTS] = {
    [BLOCKS] = sizeof(struct unwind_block),
    [PAGES] = sizeof(struct unwind_page),
    [RULES] = sizeof(uint64_t),
    [FUNCTIONS] = sizeof(struct unwind_function),
    [KEPT_EH_FRAME] = 1,
    [KEPT_DEBUG_FRAME] = 1,
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* == Saving == */

int unwind_table_save(const struct unwind_table *table, struct sprof_bytes *bytes)
{
    const struct unwind_kept_section *eh_frame = &table->kept[UNWIND_KEPT_EH_FRAME],
                                     *debug_frame = &table->kept[UNWIND_KEPT_DEBUG_FRAME];
    const void *const items[PARTS] = {table->blocks,    table->pages,   table->rules.rules,
                                      table->functions, eh_frame->data, debug_frame->data};
    const struct header header = {
        .version = UNWIND_TABLE_VERSION,
        .base = table->base,
        .span = table->span,
        .count = {unwind_table_blocks(table->span), table->page_count, table->rules.count,
                  table->function_count, eh_frame->size, debug_frame->size},
        .kept_vaddr = {0, eh_frame->vaddr, debug_frame->vaddr},
        .text_vaddr = eh_frame->size ? eh_frame->text_vaddr : debug_frame->text_vaddr,
        .got_vaddr = eh_frame->size ? eh_frame->got_vaddr : debug_frame->got_vaddr,
        .rows = table->facts.rows,
        .complex_rows = table->facts.complex_rows,
        .bad_functions = table->facts.bad_functions,
    };
    size_t size = aligned(sizeof header);
    for (size_t i = 0; i < PARTS; i++)
        size += aligned(header.count[i] * item_sizes[i]);
    uint8_t *data = calloc(1, size);
    if (!data)
        return SPROF_ENOMEM;
    *bytes = (struct sprof_bytes){data, size};
    memcpy(data, &header, sizeof header);
    data += aligned(sizeof header);
    for (size_t i = 0; i < PARTS; i++) {
        const size_t part = header.count[i] * item_sizes[i];
        if (part)
            memcpy(data, items[i], part);
        data += aligned(part);
    }
    return 0;
}

/* == Checking == */

/* Rows of a page ascend and have rules; where there are more, they go on in a page behind it, which
 * begins where they do: so a look-up always finds a row and never goes round. */
static bool page_is_valid(const struct unwind_table *table, size_t index, size_t primaries)
{
    const struct unwind_page *page = &table->pages[index];
    const int16_t next = page->start[UNWIND_PAGE_ROWS];
    if (page->start[0] < 0 || page->start[0] == UNWIND_NO_START ||
        page->start[UNWIND_PAGE_ROWS + 1] != UNWIND_NO_START)
        return false;
    for (size_t i = 0; i <= UNWIND_PAGE_ROWS; i++) {
        const int16_t start = page->start[i];
        if (i && start <= page->start[i - 1] &&
            !(start == UNWIND_NO_START && page->start[i - 1] == UNWIND_NO_START))
            return false;
        if (i < UNWIND_PAGE_ROWS && start != UNWIND_NO_START && page->rule[i] >= table->rules.count)
            return false;
    }
    return next == UNWIND_NO_START ||
           (page->more > index && page->more >= primaries && page->more < table->page_count &&
            table->pages[page->more].start[0] == next);
}

/* Blocks have their pages one after the other; neighbours where no row begins share one. */
static bool pages_are_valid(const struct unwind_table *table)
{
    const size_t blocks = unwind_table_blocks(table->span);
    size_t primaries = 0;
    for (size_t i = 0; i < blocks; i++) {
        const struct unwind_block *block = &table->blocks[i];
        const bool shares = i && block->is_plain && table->blocks[i - 1].is_plain;
        if (block->shift > UNWIND_BLOCK_SHIFT || block->shift < UNWIND_PAGE_SHIFT_MIN ||
            (block->is_plain && block->shift != UNWIND_BLOCK_SHIFT) ||
            block->first != (shares ? table->blocks[i - 1].first : primaries))
            return false;
        primaries += shares ? 0 : (size_t)1 << (UNWIND_BLOCK_SHIFT - block->shift);
        if (primaries > table->page_count)
            return false;
    }
    for (size_t i = 0; i < table->page_count; i++)
        if ((i < primaries && table->pages[i].start[0]) || !page_is_valid(table, i, primaries))
            return false;
    return true;
}

static bool functions_are_valid(const struct unwind_table *table)
{
    for (size_t i = 0; i < table->function_count; i++) {
        const struct unwind_function *function = &table->functions[i];
        if (function->end < function->start || function->kept_in >= UNWIND_KEPTS ||
            (i && function->start < table->functions[i - 1].start))
            return false;
        const size_t kept = table->kept[function->kept_in].size;
        if (kept && function->entry >= kept)
            return false;
    }
    return true;
}

static bool rules_are_valid(const struct unwind_table *table)
{
    for (size_t i = 0; i < table->rules.count; i++)
        if (!unwind_rule_is_valid(table->rules.rules[i]))
            return false;
    return true;
}

/* == Loading == */

/* Whether the counts add up to the size: then every array lies inside. */
static bool sizes_are_valid(const struct header *header, size_t size)
{
    uint64_t sum = aligned(sizeof *header);
    for (size_t i = 0; i < PARTS; i++) {
        if (header->count[i] > size / item_sizes[i])
            return false;
        sum += aligned((size_t)header->count[i] * item_sizes[i]);
    }
    return sum == size && header->span && header->span <= UINT32_MAX &&
           header->count[BLOCKS] == unwind_table_blocks((uint32_t)header->span);
}

static void point_into(struct unwind_table *table, const struct header *header, uint8_t *storage)
{
    uint8_t *items[PARTS], *at = storage + aligned(sizeof *header);
    for (size_t i = 0; i < PARTS; i++) {
        items[i] = at;
        at += aligned((size_t)header->count[i] * item_sizes[i]);
    }
    *table = (struct unwind_table){
        .base = header->base,
        .span = (uint32_t)header->span,
        .blocks = (struct unwind_block *)items[BLOCKS],
        .pages = (struct unwind_page *)items[PAGES],
        .page_count = (size_t)header->count[PAGES],
        .rules = {.rules = (uint64_t *)items[RULES], .count = (size_t)header->count[RULES]},
        .functions = (struct unwind_function *)items[FUNCTIONS],
        .function_count = (size_t)header->count[FUNCTIONS],
        .storage = storage,
    };
    for (size_t i = UNWIND_KEPT_EH_FRAME; i < UNWIND_KEPTS; i++)
        table->kept[i] = (struct unwind_kept_section){
            .data = items[KEPT_EH_FRAME + i - UNWIND_KEPT_EH_FRAME],
            .size = (size_t)header->count[KEPT_EH_FRAME + i - UNWIND_KEPT_EH_FRAME],
            .vaddr = header->kept_vaddr[i],
            .text_vaddr = header->text_vaddr,
            .got_vaddr = header->got_vaddr,
        };
}

struct unwind_table *unwind_table_load(struct sprof_bytes bytes)
{
    struct header header;
    struct unwind_table *table = NULL;
    if (bytes.size >= sizeof header && (uintptr_t)bytes.data % ALIGNMENT == 0) {
        memcpy(&header, bytes.data, sizeof header);
        if (header.version == UNWIND_TABLE_VERSION && sizes_are_valid(&header, bytes.size))
            table = malloc(sizeof *table);
    }
    if (!table) {
        free((void *)bytes.data);
        return NULL;
    }
    point_into(table, &header, (uint8_t *)bytes.data);
    table->facts = (struct unwind_table_facts){
        .rows = (size_t)header.rows,
        .rules = table->rules.count,
        .complex_rows = (size_t)header.complex_rows,
        .functions = table->function_count,
        .bad_functions = (size_t)header.bad_functions,
        .bytes = sizeof *table + bytes.size,
    };
    if (table->rules.count && rules_are_valid(table) && functions_are_valid(table) &&
        pages_are_valid(table))
        return table;
    unwind_table_free(table);
    return NULL;
}
