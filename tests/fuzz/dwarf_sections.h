/* The debug information of a small program, sound or changed. */
#ifndef SPROF_TESTS_FUZZ_DWARF_SECTIONS_H
#define SPROF_TESTS_FUZZ_DWARF_SECTIONS_H

#include "symbolize/addresses.h"
#include "symbolize/dwarf_functions.h"

/* Addresses all over the program's code. */
struct addresses dwarf_sections_addresses(void);

/* Copies of the sections, each with the changes that the input asks for: of six bytes, one names a
 * section, two a place in it, one how many of the last two are put there. Release them. */
struct dwarf_sections dwarf_sections_changed(const uint8_t *data, size_t size);
void dwarf_sections_release(struct dwarf_sections *sections);

/* Everything that is asked of an index: what covers each address, as names are made from it. */
void dwarf_sections_look_up(const struct function_index *index);

#endif
