/* symbolize, inside: the functions that hold given addresses, from DWARF into an index. */
#ifndef SPROF_SYMBOLIZE_DWARF_FUNCTIONS_H
#define SPROF_SYMBOLIZE_DWARF_FUNCTIONS_H

#include "symbolize/addresses.h"
#include "symbolize/dwarf_names.h"

#include <stdatomic.h>

/* Adds to the index every function, with all its inlined calls and lines, that holds one of the
 * addresses (vaddrs; DWARF's address = vaddr + delta); where that is NULL, all functions, and the
 * lines of units that have none. What they are called is left to
 * symbolize_dwarf_names_describe. What cannot be read here (split units, files that dwz shares,
 * functions inside types, damage) is left out, for libdw. Ends before the next unit once `stop`
 * (may be NULL) is true. The index must be sorted afterwards. */
void symbolize_dwarf_functions_add(struct dwarf_names *names, uint64_t delta,
                                   const struct addresses *addresses, const atomic_bool *stop);

/* Its parts: makes room for what so many addresses will add, and adds the functions of the units
 * from `first` to before `end`. */
void dwarf_functions_reserve(struct function_index *index, const struct addresses *addresses);
void symbolize_dwarf_functions_add_units(struct dwarf_names *names, uint64_t delta,
                                         const struct addresses *addresses, const atomic_bool *stop,
                                         size_t first, size_t end);

/* Which of the addresses (sorted) may be in code that debug information describes: *claimed holds
 * it for each. Returns false where that is unknown, as a unit does not say where its code is, or
 * cannot be read here. */
bool symbolize_dwarf_functions_claim(struct dwarf_names *names, uint64_t delta,
                                     const struct addresses *addresses, bool *claimed);

#endif
