/* symbolize, inside: line tables (DWARF 5, section 6.2), run row by row without keeping them. */
#ifndef SPROF_SYMBOLIZE_DWARF_LINES_H
#define SPROF_SYMBOLIZE_DWARF_LINES_H

#include "symbolize/dwarf_unit.h"

struct dwarf_file {
    const char *name;
    uint64_t directory;
};

/* A stretch of the program that begins anew: what rows it makes lies between these addresses. */
struct dwarf_sequence {
    uint64_t low, high;
    size_t offset;
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
    SPROF_VEC(struct dwarf_sequence) sequences; /* of the whole program, once it has been run */
    bool has_sequences;
};

/* Reads the header of a unit's line table; false where there is none, or it is damaged. Release in
 * either case. */
bool symbolize_dwarf_line_table_open(struct dwarf_line_table *table, const struct dwarf *dwarf,
                                     const struct dwarf_unit *unit);
void symbolize_dwarf_line_table_release(struct dwarf_line_table *table);

/* Appends the name of a file with its directory, as the attributes and rows of the unit number it;
 * false where there is none. */
bool symbolize_dwarf_line_table_file(const struct dwarf_line_table *table, uint64_t number,
                                     struct sprof_str *name);

/* Calls back for each stretch of addresses that one row covers: sequences in the order of the
 * table. The answer is an address: rows that follow in the sequence and end there or before may be
 * left out. From the second time on only sequences run that `wants` accepts, in files
 * whose code begins at 0 from the first time on. Sequences of dropped functions are left out. */
typedef uint64_t dwarf_line_row(void *context, uint64_t low, uint64_t high, uint64_t file,
                                uint64_t line);
typedef bool dwarf_line_wants(void *context, uint64_t low, uint64_t high);
void symbolize_dwarf_line_table_run(struct dwarf_line_table *table, struct dwarf *dwarf,
                                    dwarf_line_row *row, dwarf_line_wants *wants, void *context);

#endif
