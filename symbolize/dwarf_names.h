/* symbolize, inside: DWARF's texts in an index: source files, and what functions are called. */
#ifndef SPROF_SYMBOLIZE_DWARF_NAMES_H
#define SPROF_SYMBOLIZE_DWARF_NAMES_H

#include "symbolize/dwarf_lines.h"
#include "symbolize/dwarf_unit.h"
#include "symbolize/function_index.h"

/* A unit's line table, and the texts of those of its files that were asked for. */
struct dwarf_source_files {
    struct dwarf_line_table lines;
    uint32_t *texts;
};

struct dwarf_names {
    struct dwarf dwarf;
    struct function_index *index;               /* borrowed */
    SPROF_VEC(struct dwarf_source_files) files; /* of units, by line_table - 1 */
};

/* Release in either case. */
void dwarf_names_open(struct dwarf_names *names, const struct dwarf_sections *sections,
                      struct function_index *index);
void dwarf_names_release(struct dwarf_names *names);

/* The unit's line table, read when it is first asked for; NULL where memory runs out. It stays
 * valid until that of another unit is asked for. */
struct dwarf_source_files *dwarf_names_files(struct dwarf_names *names, struct dwarf_unit *unit);

/* The text of a file of the unit, 0 unknown. */
uint32_t dwarf_names_file(struct dwarf_names *names, struct dwarf_unit *unit, uint64_t number);

/* Reads what an entry of the index still refers to: what the function is called and where it is
 * declared, also through abstract origins and specifications. */
void dwarf_names_describe(struct dwarf_names *names, struct index_description *description);

#endif
