/* symbolize, inside: DWARF's entries as a walk through functions needs them, what they are called,
 * and lists of ranges (DWARF 5, sections 3.3, 2.17.3 and 7.25). Everything read is untrusted. */
#ifndef SPROF_SYMBOLIZE_DWARF_ENTRY_H
#define SPROF_SYMBOLIZE_DWARF_ENTRY_H

#include "symbolize/dwarf_unit.h"

/* An entry that is a function or an inlined call, or may have such among its children, or ends a
 * list of children. */
struct dwarf_entry {
    uint64_t offset, children; /* `children`: where what follows the attributes begins */
    uint64_t sibling;          /* 0 unknown */
    uint16_t tag;              /* 0: the end of a list of children */
    bool has_children;
    struct dwarf_extent extent;
    uint64_t origin;    /* of an inlined call: offset of what it calls, 0 unknown */
    uint64_t call_file; /* number + 1; 0: none is given */
    uint64_t call_line;
};

/* Reads the first such entry at an offset or behind it, past others with all that is inside of
 * them. False where it is damaged or nothing is left. */
bool symbolize_dwarf_entry_next(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                                struct dwarf_entry *entry);

/* Calls back for each child of an entry, with its tag. */
typedef void dwarf_child(void *context, uint64_t offset, uint16_t tag);
void symbolize_dwarf_each_child(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
                                dwarf_child *child, void *context);

/* Reads the attributes of one entry in order; false where it cannot be read. */
typedef void dwarf_attribute_value(void *context, uint16_t name, const struct dwarf_value *value);
bool symbolize_dwarf_each_attribute(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                    uint64_t offset, uint16_t *tag, dwarf_attribute_value *take,
                                    void *context);

/* What an entry says about what a function is called and where it is declared. */
struct dwarf_naming {
    struct dwarf_value name, linkage_name;
    uint64_t origin, specification; /* offsets of entries that say more, 0: none */
    uint64_t file;                  /* number + 1; 0: none is given */
    uint64_t line;
};
bool symbolize_dwarf_naming_read(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                 uint64_t offset, struct dwarf_naming *naming);

/* Calls back for each range of an extent that the image has, until it returns false. */
typedef bool dwarf_range(void *context, uint64_t low, uint64_t high);
void symbolize_dwarf_each_range(struct dwarf *dwarf, const struct dwarf_unit *unit,
                                const struct dwarf_extent *extent, dwarf_range *range,
                                void *context);

#endif
