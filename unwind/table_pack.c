/* Rows into pages. */
#include "unwind/table.h"

#include <stdlib.h>

#define BLOCK_BYTES (UINT64_C(1) << UNWIND_BLOCK_SHIFT)

enum { ROWS_WANTED = 11 }; /* a page, at most, on average over a block */
_Static_assert(sizeof(struct unwind_page) == 64, "a page is a cache line");
_Static_assert(BLOCK_BYTES <= UNWIND_NO_START, "every offset in a page is a start");

struct packer {
    const struct unwind_rows *rows;
    struct unwind_table *table;
    size_t row;   /* the one that holds where packing has come to */
    size_t pages; /* used so far */
};

static uint8_t choose_shift(size_t rows)
{
    uint8_t shift = UNWIND_BLOCK_SHIFT;
    while (shift > UNWIND_PAGE_SHIFT_MIN && rows > (size_t)ROWS_WANTED
                                                       << (UNWIND_BLOCK_SHIFT - shift))
        shift--;
    return shift;
}

/* Gives every block its pages. Of blocks where no row begins, one serves those behind it, too: what
 * two sections lie apart costs no more than these words. */
static void lay_out(struct packer *packer)
{
    const struct unwind_rows *rows = packer->rows;
    struct unwind_block *blocks = packer->table->blocks;
    size_t row = 0;
    for (size_t i = 0; i < unwind_table_blocks(packer->table->span); i++) {
        const uint64_t end = (i + 1) * BLOCK_BYTES;
        const size_t before = row;
        while (row + 1 < rows->count && rows->start[row + 1] < end)
            row++;
        const uint8_t shift = choose_shift(row - before);
        blocks[i] = (struct unwind_block){
            .first = (uint32_t)packer->pages, .shift = shift, .is_plain = row == before};
        if (i && blocks[i].is_plain && blocks[i - 1].is_plain)
            blocks[i].first = blocks[i - 1].first;
        else
            packer->pages += BLOCK_BYTES >> shift;
    }
}

static void page_empty(struct unwind_page *page)
{
    *page = (struct unwind_page){0};
    for (size_t i = 0; i < UNWIND_PAGE_ROWS + 2; i++)
        page->start[i] = UNWIND_NO_START;
}

/* Fills the page of [begin, end), and as many more as its rows need. */
static void page_fill(struct packer *packer, struct unwind_page *page, uint64_t begin, uint64_t end)
{
    const struct unwind_rows *rows = packer->rows;
    size_t used = 0;
    page_empty(page);
    if (packer->row + 1 < rows->count && rows->start[packer->row + 1] == begin)
        packer->row++;
    for (int16_t start = 0;; start = (int16_t)(rows->start[++packer->row] - begin)) {
        page->start[used] = start;
        if (used == UNWIND_PAGE_ROWS) {
            page->more = (uint32_t)packer->pages++;
            page = &packer->table->pages[page->more];
            page_empty(page);
            page->start[used = 0] = start;
        }
        page->rule[used++] = rows->rule[packer->row];
        if (packer->row + 1 >= rows->count || rows->start[packer->row + 1] >= end)
            return;
    }
}

int unwind_table_pack(struct unwind_table *table, const struct unwind_rows *rows)
{
    struct packer packer = {.rows = rows, .table = table};
    table->blocks = malloc(unwind_table_blocks(table->span) * sizeof *table->blocks);
    if (!table->blocks)
        return SPROF_ENOMEM;
    lay_out(&packer);
    const size_t most = packer.pages + rows->count / UNWIND_PAGE_ROWS;
    table->pages = aligned_alloc(sizeof *table->pages, most * sizeof *table->pages);
    if (!table->pages)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < unwind_table_blocks(table->span); i++) {
        const struct unwind_block block = table->blocks[i];
        if (i && block.is_plain && table->blocks[i - 1].is_plain)
            continue;
        const uint64_t begin = i * BLOCK_BYTES, size = UINT64_C(1) << block.shift;
        for (uint64_t at = 0; at < BLOCK_BYTES; at += size)
            page_fill(&packer, &table->pages[block.first + (at >> block.shift)], begin + at,
                      begin + at + size);
    }
    table->page_count = packer.pages;
    table->facts.bytes += unwind_table_blocks(table->span) * sizeof *table->blocks +
                          packer.pages * sizeof *table->pages;
    return 0;
}
