/* symbolize, inside: DWARF's units and entries as they stand in the sections (DWARF 5, sections 7.5
 * and 7.27), read without building anything of them. Versions 2 to 5 of 32-bit DWARF with 8-byte
 * addresses; units that need another file are left to libdw. Everything read is untrusted. */
#ifndef SPROF_SYMBOLIZE_DWARF_UNIT_H
#define SPROF_SYMBOLIZE_DWARF_UNIT_H

#include "base/base.h"

#include <stdbool.h>

/* The sections, borrowed; empty ones are missing. */
struct dwarf_sections {
    struct sprof_bytes info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
};

struct dwarf_attribute {
    uint16_t name, form;
    int32_t fixed_bytes; /* -1: the data tells */
    int64_t implicit;    /* DW_FORM_implicit_const */
};

struct dwarf_abbreviation {
    uint16_t tag; /* 0: there is none of this code */
    bool children;
    uint32_t first, count; /* attributes */
    int32_t fixed_bytes;   /* of all attributes together; -1: they must be looked at */
};

enum dwarf_class {
    DWARF_NONE,
    DWARF_NUMBER,    /* constants and flags */
    DWARF_ADDRESS,   /* an address */
    DWARF_TEXT,      /* dwarf_text gives it */
    DWARF_REFERENCE, /* offset of an entry in .debug_info */
    DWARF_OFFSET,    /* into another section */
    DWARF_INDEX,     /* of a list of ranges */
};

struct dwarf_value {
    enum dwarf_class class;
    uint16_t form;
    uint64_t number;
    const char *text; /* of DW_FORM_string */
};

struct dwarf_unit {
    uint64_t offset, end, entries; /* in .debug_info: header, what follows, first entry */
    uint64_t abbrev_offset;
    uint16_t version;
    bool readable; /* false: left to libdw */
    bool opened;   /* the root entry has been read */
    bool ada, has_lines;
    uint32_t first_abbreviation, abbreviation_count; /* by code - 1 */
    uint64_t low_pc;
    uint64_t str_offsets_base, addr_base, rnglists_base, line_offset;
    const char *directory;     /* DW_AT_comp_dir, NULL unknown */
    struct dwarf_value ranges; /* of the root entry, with low_pc and high_pc */
    uint64_t high_pc;
    bool low_is_known, high_is_offset;
    uint32_t line_table; /* number in the lines' list, 0 not read yet */
};

struct dwarf {
    struct dwarf_sections sections;
    SPROF_VEC(struct dwarf_unit) units; /* in order of offset */
    SPROF_VEC(struct dwarf_abbreviation) abbreviations;
    SPROF_VEC(struct dwarf_attribute) attributes;
    struct sprof_map abbreviation_tables; /* offset → number of the first unit that has it + 1 */
    uint64_t steps_left;                  /* damaged files end there */
    bool failed;                          /* memory ran out */
};

/* An entry: its place, and its attributes in so far as functions need them. */
struct dwarf_entry {
    uint64_t offset, children; /* `children`: where what follows the attributes begins */
    uint64_t sibling;          /* 0 unknown */
    uint16_t tag;              /* 0: the end of a list of children */
    bool has_children;
    bool low_is_known, high_is_offset;
    uint64_t low_pc, high_pc;
    struct dwarf_value ranges, origin, specification, name, linkage_name;
    uint64_t call_file, decl_file; /* number + 1; 0: none is given */
    uint64_t call_line, decl_line;
};

/* Finds the units. The sections stay the caller's. Release in either case. */
void dwarf_open(struct dwarf *dwarf, const struct dwarf_sections *sections);
void dwarf_release(struct dwarf *dwarf);

/* Reads the unit's abbreviations and root entry, once; false where it cannot be read here. */
bool dwarf_unit_open(struct dwarf *dwarf, struct dwarf_unit *unit);

/* The unit that holds an offset of .debug_info, opened; NULL where there is none. */
struct dwarf_unit *dwarf_unit_of(struct dwarf *dwarf, uint64_t offset);

/* Reads the entry at an offset: of functions and inlined calls all, of others the tag, the children
 * and the sibling. False where it is damaged or nothing is left. */
bool dwarf_entry_read(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                      struct dwarf_entry *entry);

/* Calls back for each range of an entry, until it returns false. */
typedef bool dwarf_range(void *context, uint64_t low, uint64_t high);
void dwarf_each_range(struct dwarf *dwarf, const struct dwarf_unit *unit,
                      const struct dwarf_entry *entry, dwarf_range *range, void *context);

/* A value's string, NULL where it is none. */
const char *dwarf_text(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                       const struct dwarf_value *value);

/* Reads the value of a form; false where it is damaged, unknown, or lies in another file. */
bool dwarf_value_read(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                      struct sprof_reader *reader, uint16_t form, int64_t implicit,
                      struct dwarf_value *value);

#endif
