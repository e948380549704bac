/* symbolize, inside: which compile unit each address belongs to. */
#ifndef SPROF_SYMBOLIZE_UNITS_H
#define SPROF_SYMBOLIZE_UNITS_H

#include "symbolize/flatten.h"

/* Where a unit's functions are: in another file when it is a skeleton (split DWARF); without that
 * file it has none. */
Dwarf_Die symbolize_units_functions_of(Dwarf_Die *unit);

/* The image's code is `code`, borrowed. Finds the units of the addresses (first .debug_aranges,
 * which is quick but may be incomplete, then every unit's own ranges, then the units that give
 * none) and flattens them. Returns 0 or SPROF_ENOMEM. Release in either case; entries live as long
 * as the module. */
int symbolize_units_flatten(struct flat *flat, Dwarf *dwarf, uint64_t delta,
                            const struct dwarf_code *code, const struct addresses *addresses);
void symbolize_units_release(struct flat *flat);

#endif
