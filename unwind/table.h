/* The inside of a table, for the files of this room. */
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
};

enum unwind_kept { UNWIND_KEPT_NONE, UNWIND_KEPT_EH_FRAME, UNWIND_KEPT_DEBUG_FRAME, UNWIND_KEPTS };

/* A section that odd rows need: copied, with what its pointers count from. */
struct unwind_kept_section {
    uint8_t *data;
    size_t size;
    uint64_t vaddr, text_vaddr, got_vaddr;
};

/* Row i holds from base + pc[i] to base + pc[i + 1]; row 0 is at the base. Page p of 2^shift bytes
 * begins in row page[p]; there is one page more than there are, so that page[p + 1] always exists.
 * 2^shift is 256 unless rows are thinner than a quarter of the pages. */
struct unwind_table {
    uint64_t base;
    uint32_t span; /* addresses from base + span on are not the table's */
    unsigned shift;
    uint32_t *page;
    uint32_t *pc;
    uint16_t *row_rule;
    size_t rows;
    struct rule_set rules;
    struct unwind_function *functions;
    size_t function_count;
    struct unwind_kept_section kept[UNWIND_KEPTS];
    struct unwind_table_facts facts;
};

/* The rule at a vaddr; GAP outside the table. */
uint64_t unwind_table_lookup(const struct unwind_table *table, uint64_t vaddr);

/* The function that covers a vaddr, or NULL. */
const struct unwind_function *unwind_table_function_at(const struct unwind_table *table,
                                                       uint64_t vaddr);

/* Whether a function begins behind `low`, up to and including `high`. */
bool unwind_table_starts_between(const struct unwind_table *table, uint64_t low, uint64_t high);

/* Makes the page index of a table whose rows are final. Returns 0 or SPROF_ENOMEM. */
int unwind_table_index(struct unwind_table *table);

#endif
