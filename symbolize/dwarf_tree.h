/* symbolize, inside: DWARF's entries with their parents, for any reader: our own
 * or libdw. Everything read is untrusted. */
#ifndef SPROF_SYMBOLIZE_DWARF_TREE_H
#define SPROF_SYMBOLIZE_DWARF_TREE_H

#include "base/base.h"

#include <stdbool.h>

/* What an entry says. Entries are numbers that its source understands, 0 for none. */
struct dwarf_node {
    uint64_t self;
    uint16_t tag;
    bool external, artificial, has_value, has_bound;
    bool on_lvalues, on_rvalues; /* member functions with & or && behind their parameters */
    const char *name, *linkage_name, *template_name; /* NULL: there is none */
    uint64_t type, origin, specification, containing, object_pointer;
    uint64_t encoding, bytes, bound, value;
    uint64_t line, column;
};

typedef void dwarf_tree_child(void *context, uint64_t child, uint16_t tag);

struct dwarf_tree_source {
    /* False where it cannot be read. */
    bool (*read)(void *source, uint64_t self, struct dwarf_node *node);
    /* Children in the order of the file. */
    void (*each_child)(void *source, uint64_t self, dwarf_tree_child *child, void *context);
    /* The root of the unit that an entry is in; 0 unknown. */
    uint64_t (*unit)(void *source, uint64_t self);
    /* Grows in the order of the file. */
    uint64_t (*position)(void *source, uint64_t self);
};

/* An entry whose children are known, by their numbers, or not yet. */
struct dwarf_place {
    uint64_t self;
    uint32_t parent; /* index + 1; 0: a unit */
    uint32_t first, count;
    uint16_t tag;
    bool expanded;
};

struct dwarf_tree {
    const struct dwarf_tree_source *calls;
    void *source;
    SPROF_VEC(struct dwarf_place) places;
    struct sprof_map units; /* root → index + 1 */
    bool failed;            /* memory ran out */
};

void symbolize_dwarf_tree_release(struct dwarf_tree *tree);

/* The parent of an entry, and what it says; false where it has none but its unit. Only what leads
 * to the entry is read. */
bool symbolize_dwarf_tree_parent(struct dwarf_tree *tree, uint64_t self, struct dwarf_node *parent);

#endif
