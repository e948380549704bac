/* The inside of a table, for the files of this library. */
#ifndef SPROF_UNWIND_TABLE_H
#define SPROF_UNWIND_TABLE_H

#include "unwind/rule.h"
#include "unwind/unwind.h"

enum { UNWIND_TABLE_ROWS_MAX = 16 << 20 };

/* An FDE or a Go function; offsets from the table's base. `entry` is where the FDE stands in the
 * kept section. */
struct unwind_function {
    uint32_t start, end;
    uint32_t entry;
    uint8_t kept_in; /* enum unwind_kept */
    uint8_t unused[3];
};

enum unwind_kept { UNWIND_KEPT_NONE, UNWIND_KEPT_EH_FRAME, UNWIND_KEPT_DEBUG_FRAME, UNWIND_KEPTS };

/* A section that complex rows need: copied, with what its pointers count from. */
struct unwind_kept_section {
    uint8_t *data;
    size_t size;
    uint64_t vaddr, text_vaddr, got_vaddr;
};

/* The rows of a page of code, in one cache line: a look-up that nothing has prepared waits for
 * memory once. Row i holds from start[i] up to start[i + 1], offsets from where the page begins;
 * the first row of a page may have begun before it. Unused starts are UNWIND_NO_START, behind all
 * others. Where a page has more rows, the last start but one is where those of pages[more] begin.
 */
enum { UNWIND_PAGE_ROWS = 14, UNWIND_NO_START = INT16_MAX };
struct unwind_page {
    int16_t start[UNWIND_PAGE_ROWS + 2];
    uint16_t rule[UNWIND_PAGE_ROWS]; /* numbers of the table's set */
    uint32_t more;
};

/* A block of code has pages as large as its rows allow: each of 2^shift bytes, one after the other
 * from pages[first]. */
enum { UNWIND_BLOCK_SHIFT = 14, UNWIND_PAGE_SHIFT_MIN = 6 };
struct unwind_block {
    uint32_t first;
    uint8_t shift;
    uint8_t is_plain; /* 1: no row begins in it */
    uint8_t unused[2];
};

/* How many blocks a span of addresses has. */
static inline size_t unwind_table_blocks(uint32_t span)
{
    return ((size_t)(span - 1) >> UNWIND_BLOCK_SHIFT) + 1;
}

struct unwind_table {
    uint64_t base;
    uint32_t span; /* addresses from base + span on are not the table's */
    struct unwind_block *blocks;
    struct unwind_page *pages;
    size_t page_count;
    struct rule_set rules;
    struct unwind_function *functions;
    size_t function_count;
    struct unwind_kept_section kept[UNWIND_KEPTS];
    struct unwind_table_facts facts;
    struct unwind_stored *stored; /* of a loaded table: holds all arrays; NULL: each is its own */
};

/* A table as it was stored. Pages, functions and kept sections may still be in the file: a piece of
 * them is read and held against its checksum when it is first needed. One that is not as it was
 * written is zeros from then on. */
enum { UNWIND_STORED_PIECE = 1 << 14 };
struct unwind_stored;

/* Makes sure that what lies at `data`, in one of the arrays that may still be in the file, is
 * there. Any number of threads may call it at once. */
void unwind_stored_read(struct unwind_stored *stored, const void *data, size_t size);
void unwind_stored_free(struct unwind_stored *stored);

/* Puts right checksums of saved bytes of which something was changed: for tests. */
void unwind_table_seal(struct sprof_bytes bytes);

/* Rows as they are made: row i holds from base + start[i] up to base + start[i + 1]. Row 0 begins
 * at the base. */
struct unwind_rows {
    uint32_t *start;
    uint16_t *rule;
    size_t count;
};

/* Puts the rows into the table's pages; the span must be known. Returns 0 or SPROF_ENOMEM. */
int unwind_table_pack(struct unwind_table *table, const struct unwind_rows *rows);

/* The rule at a vaddr; GAP outside the table. */
uint64_t unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr);

/* Where the page is whose rows an offset from the base is looked up in; the offset must be below
 * the span. It may still be in the file. */
static inline const struct unwind_page *unwind_table_page_at(const struct unwind_table *table,
                                                             uint32_t offset)
{
    const struct unwind_block block = table->blocks[offset >> UNWIND_BLOCK_SHIFT];
    const uint32_t within = offset & ((1u << UNWIND_BLOCK_SHIFT) - 1);
    return &table->pages[block.first + (within >> block.shift)];
}

/* The same, to be read from. */
static inline const struct unwind_page *unwind_table_page(const struct unwind_table *table,
                                                          uint32_t offset)
{
    const struct unwind_page *page = unwind_table_page_at(table, offset);
    if (table->stored)
        unwind_stored_read(table->stored, page, sizeof *page);
    return page;
}

/* The page where the rows of one go on; NULL where a forged table has none there. */
static inline const struct unwind_page *unwind_table_more(const struct unwind_table *table,
                                                          const struct unwind_page *page)
{
    const uint32_t more = page->more;
    if (more >= table->page_count || more <= (size_t)(page - table->pages))
        return NULL;
    if (table->stored)
        unwind_stored_read(table->stored, &table->pages[more], sizeof *table->pages);
    return &table->pages[more];
}

/* The rule of a row of a page. */
static inline uint64_t unwind_table_rule(const struct unwind_table *table,
                                         const struct unwind_page *page, size_t row)
{
    const uint16_t rule = page->rule[row];
    return rule < table->rules.count ? table->rules.rules[rule] : UNWIND_RULE_GAP;
}

/* A function by its place among all. */
static inline const struct unwind_function *unwind_table_nth(const struct unwind_table *table,
                                                             size_t place)
{
    const struct unwind_function *function = &table->functions[place];
    if (table->stored)
        unwind_stored_read(table->stored, function, sizeof *function);
    return function;
}

/* A kept section that the entry of a function lies in; NULL where there is none. */
const struct unwind_kept_section *unwind_table_kept(const struct unwind_table *table,
                                                    const struct unwind_function *function);

/* The function that covers a vaddr, or NULL. */
const struct unwind_function *unwind_table_function_at(const struct unwind_table *table,
                                                       uint64_t vaddr);

/* Whether a function begins behind `low`, up to and including `high`. */
bool unwind_table_starts_between(const struct unwind_table *table, uint64_t low, uint64_t high);

/* The first row that begins at or behind a vaddr, and its rule; false where there is none. */
bool unwind_table_row_from(const struct unwind_table *table, uint64_t vaddr, uint64_t *start,
                           uint64_t *rule);

#endif
