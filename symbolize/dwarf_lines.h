/* symbolize, inside: line tables (DWARF 5, section 6.2), run row by row without keeping them. */
#ifndef SPROF_SYMBOLIZE_DWARF_LINES_H
#define SPROF_SYMBOLIZE_DWARF_LINES_H

#include "symbolize/dwarf_unit.h"

struct dwarf_file {
    const char *name;
    uint64_t directory;
};

/* One unit's table: its header, read. Texts are the sections'. */
struct dwarf_line_table {
    uint16_t version;
    uint8_t instruction_bytes, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *lengths; /* of standard opcodes, [opcode - 1] */
    struct sprof_bytes program;
    SPROF_VEC(const char *) directories;
    SPROF_VEC(struct dwarf_file) files;
};

/* Reads the header of a unit's line table; false where there is none, or it is damaged. Release in
 * either case. */
bool dwarf_line_table_open(struct dwarf_line_table *table, const struct dwarf *dwarf,
                           const struct dwarf_unit *unit);
void dwarf_line_table_release(struct dwarf_line_table *table);

/* Appends the name of a file with its directory, as the attributes and rows of the unit number it;
 * false where there is none. */
bool dwarf_line_table_file(const struct dwarf_line_table *table, uint64_t number,
                           struct sprof_str *name);

/* Calls back for each stretch of addresses that one row covers: sequences in the order of the
 * table. */
typedef void dwarf_line_row(void *context, uint64_t low, uint64_t high, uint64_t file,
                            uint64_t line);
void dwarf_line_table_run(const struct dwarf_line_table *table, struct dwarf *dwarf,
                          dwarf_line_row *row, void *context);

#endif
