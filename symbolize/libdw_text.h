/* symbolize, inside: strings of libdw's entries. */
#ifndef SPROF_SYMBOLIZE_LIBDW_TEXT_H
#define SPROF_SYMBOLIZE_LIBDW_TEXT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* dwarf_formstring and dwarf_diename. NULL also where a string has no end in its section, which
 * libdw returns as well when the string stands in the entry itself. */
const char *symbolize_libdw_text(Dwarf_Attribute *attribute);
const char *symbolize_libdw_name(Dwarf_Die *die);

/* Whether the strings of a unit's own entry end. libdw uses them itself, for lines and split units.
 */
bool symbolize_libdw_unit_is_sound(Dwarf_Die *unit);

#endif
