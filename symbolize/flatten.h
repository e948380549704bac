/* symbolize, inside: compile units flattened into what covers each address.
 *
 * A walk over one unit, in the order of its entries, hangs every function and inlined call that
 * covers an address of the unit under the one that covers it already. In the end each address has
 * its innermost entry, and each entry the one around it. */
#ifndef SPROF_SYMBOLIZE_FLATTEN_H
#define SPROF_SYMBOLIZE_FLATTEN_H

#include "symbolize/addresses.h"
#include "symbolize/module.h"

enum { FLATTEN_NONE = 0 };

/* A function or an inlined call. Numbers count from 1. */
struct flat_entry {
    Dwarf_Die die;
    uint32_t parent; /* FLATTEN_NONE: a physical function */
    uint32_t unit;
    uint64_t start, size; /* vaddr of the range around its first address */
};

struct flat_address {
    uint32_t unit;  /* whose line table has it */
    uint32_t entry; /* innermost, or FLATTEN_NONE */
};

struct flat_unit {
    Dwarf_Die die;       /* with the line table */
    Dwarf_Die functions; /* the same, or the split unit's */
    bool walked, walked_everywhere;
};

/* Units of which the file that has their functions is not there. */
struct flat_missing {
    size_t count;
    struct sprof_str first; /* the name of the first one's */
};

struct flat {
    const struct addresses *addresses;
    const struct dwarf_code *code;
    uint64_t delta;          /* DWARF's address = vaddr + delta */
    struct flat_address *of; /* per address */
    SPROF_VEC(struct flat_entry) entries;
    SPROF_VEC(struct flat_unit) units;
    struct sprof_map by_offset; /* of a unit's first entry → its number */
    struct flat_missing missing;
    uint64_t steps_left; /* entries and ranges still to be looked at: damaged files end there */
    bool failed;         /* memory ran out */
};

/* Walks one unit. With `everywhere` also into types and functions that cover nothing, where some
 * compilers put nested functions. */
void symbolize_flatten_unit(struct flat *flat, uint32_t unit, bool everywhere);

/* Calls back for each of the entry's ranges, as vaddrs. */
typedef void flatten_range(struct flat *flat, uint64_t low, uint64_t high, void *context);
void symbolize_flatten_each_range(struct flat *flat, Dwarf_Die *die, flatten_range *range,
                                  void *context);

#endif
