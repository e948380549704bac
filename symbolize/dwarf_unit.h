/* symbolize, inside: DWARF's units, abbreviations and forms as they stand in the sections (DWARF 5,
 * section 7.5), read without building anything of them. Versions 2 to 5, 32-bit and 64-bit DWARF
 * with 8-byte addresses; units that need another file are left to libdw. Everything read is
 * untrusted. */
#ifndef SPROF_SYMBOLIZE_DWARF_UNIT_H
#define SPROF_SYMBOLIZE_DWARF_UNIT_H

#include "base/base.h"
#include "image/image.h"

#include <stdbool.h>

/* The sections, borrowed; empty ones are missing. */
struct dwarf_sections {
    struct sprof_bytes info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
};

/* Where the image has code, in DWARF's addresses. A linker that drops a function leaves its debug
 * information, and writes 0, 1, -1 or -2 for its address, some of them with the distance from its
 * section's beginning added: what begins there is not in the image. Files whose code begins at 0
 * have a function there, too; its size says which it is. */
struct dwarf_code {
    const struct image_stretch *stretches; /* in order, borrowed */
    size_t count;                          /* 0: not known, it may be everywhere */
    bool has_zero;                         /* code begins at vaddr 0 … */
    uint64_t zero;                         /* … which is this address */
    uint64_t zero_size;                    /* of the function there, 0 unknown */
};

/* Whether code begins at an address. */
bool symbolize_dwarf_code_begins(const struct dwarf_code *code, uint64_t low);

/* Whether a function of this extent can be in the image. */
bool symbolize_dwarf_code_has_function(const struct dwarf_code *code, uint64_t low, uint64_t high);

struct dwarf_attribute {
    uint16_t name, form;
    int64_t implicit; /* DW_FORM_implicit_const */
};

/* What a walk does at an entry: it skips bytes, then reads an attribute. */
struct dwarf_step {
    uint16_t skip;
    uint16_t name, form; /* name 0: the value is not needed, but its size depends on the data */
    uint8_t bytes;       /* of a plain number; 0: the form says how to read it */
    uint8_t class;       /* of a plain number: enum dwarf_class */
    int64_t implicit;
};

struct dwarf_abbreviation {
    uint16_t tag; /* 0: there is none of this code */
    bool children;
    bool passed;           /* a walk goes past it and all that is inside of it */
    uint32_t first, count; /* attributes */
    uint32_t first_step, step_count;
    uint32_t tail; /* bytes behind the last step */
};

enum dwarf_class {
    DWARF_NONE,
    DWARF_NUMBER,    /* constants and flags */
    DWARF_ADDRESS,   /* an address */
    DWARF_TEXT,      /* symbolize_dwarf_text gives it */
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

/* Where the code of a unit, a function or a call lies, as it is written. */
struct dwarf_extent {
    enum dwarf_class ranges_class; /* DWARF_NONE: from low_pc to high_pc */
    bool low_is_known, high_is_offset;
    uint64_t ranges, low_pc, high_pc;
};

struct dwarf_unit {
    uint64_t offset, end, entries; /* in .debug_info: header, what follows, first entry */
    uint64_t abbrev_offset;
    uint16_t version;
    uint8_t offset_size; /* 4, in 64-bit DWARF 8 */
    bool readable;       /* false: left to libdw */
    bool opened;         /* the root entry has been read */
    bool ada, cxx, has_lines;
    uint32_t first_abbreviation, abbreviation_count; /* by code - 1 */
    uint64_t str_offsets_base, addr_base, rnglists_base, line_offset;
    const char *directory; /* DW_AT_comp_dir, NULL unknown */
    struct dwarf_extent extent;
    uint32_t line_table; /* for dwarf_names: number of its line table, 0 not read yet */
};

struct dwarf {
    struct dwarf_sections sections;
    struct dwarf_code code;             /* the caller's, set after symbolize_dwarf_open */
    SPROF_VEC(struct dwarf_unit) units; /* in order of offset */
    SPROF_VEC(struct dwarf_abbreviation) abbreviations;
    SPROF_VEC(struct dwarf_attribute) attributes;
    SPROF_VEC(struct dwarf_step) steps;
    struct sprof_map abbreviation_tables; /* offset → number of the first unit that has it + 1 */
    uint64_t steps_left;                  /* damaged files end there */
    bool failed;                          /* memory ran out */
};

/* Finds the units. The sections stay the caller's. Release in either case. */
void symbolize_dwarf_open(struct dwarf *dwarf, const struct dwarf_sections *sections);
void symbolize_dwarf_release(struct dwarf *dwarf);

/* Makes one of the units from `first` to before `end` of another, as if nothing had been read of
 * them, for a thread of its own, which may take so many steps: only the sections are common. Of the
 * whole only these units and the sections are read. Release in any case. */
void symbolize_dwarf_share(struct dwarf *share, const struct dwarf *whole, size_t first, size_t end,
                           uint64_t steps);

/* The bound of what is read counts anew: for the next question. */
void symbolize_dwarf_refill_steps(struct dwarf *dwarf);

/* Reads the unit's abbreviations and root entry, once; false where it cannot be read here. */
bool symbolize_dwarf_unit_open(struct dwarf *dwarf, struct dwarf_unit *unit);

/* The unit that holds an offset of .debug_info, opened; NULL where there is none. */
struct dwarf_unit *symbolize_dwarf_unit_of(struct dwarf *dwarf, uint64_t offset);

/* A value's string, NULL where it is none. */
const char *symbolize_dwarf_text(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 const struct dwarf_value *value);

/* Reads the value of a form; false where it is damaged, unknown, or lies in another file. */
bool symbolize_dwarf_value_read(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                struct sprof_reader *reader, uint16_t form, int64_t implicit,
                                struct dwarf_value *value);

/* Reads the length that a unit or a table begins with, which says how wide offsets in it are; false
 * where it goes beyond the section. And reads such an offset. */
bool symbolize_dwarf_length_read(struct sprof_reader *reader, uint64_t *length,
                                 uint8_t *offset_size);
uint64_t symbolize_dwarf_offset_read(struct sprof_reader *reader, uint8_t offset_size);

/* The number of 1 to 8 bytes at an offset of a section; 0 outside of it. */
uint64_t symbolize_dwarf_number_at(struct sprof_bytes section, uint64_t offset, size_t size);

/* The address of an index into .debug_addr. */
uint64_t symbolize_dwarf_address(const struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 uint64_t index);

/* Whether a unit's DW_AT_language is C++. */
bool symbolize_dwarf_language_is_cxx(uint64_t language);

/* Notes DW_AT_low_pc, DW_AT_high_pc or DW_AT_ranges. */
void symbolize_dwarf_extent_take(struct dwarf_extent *extent, uint16_t name,
                                 const struct dwarf_value *value);

#endif
