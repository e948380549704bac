/* symbolize, inside: the ELF symbols that cover the wanted addresses, in one pass over the tables.
 *
 * A symbol names the addresses within its size. A function symbol without a size, as assembler code
 * and start-up files have them, names what follows it up to the next symbol of its section, but not
 * past the start of a function in the unwind tables. */
#ifndef SPROF_SYMBOLIZE_SYMBOLS_H
#define SPROF_SYMBOLIZE_SYMBOLS_H

#include "symbolize/addresses.h"
#include "symbolize/symbol_table.h"

/* One per address. `name` is NULL where no symbol covers it; it lives as long as the table. */
struct symbol {
    const char *name;
    uint64_t start, size; /* vaddr */
    uint8_t rank;         /* how good a name it is: smaller is better */
};

struct symbols {
    struct symbol *sized;   /* per address */
    struct symbol *unsized; /* per address: only where `sized` has no name */
    bool ada;               /* the image holds GNAT's start-up code */
};

/* Returns 0 or SPROF_ENOMEM. A table without symbols is not an error. */
int symbolize_symbols_find(struct symbols *symbols, const struct symbol_table *table,
                           const struct addresses *addresses,
                           const struct symbolize_bounds *bounds);
void symbolize_symbols_release(struct symbols *symbols);

#endif
