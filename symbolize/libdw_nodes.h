/* symbolize, inside: libdw's entries as the tree of DWARF takes them, for units in other files. */
#ifndef SPROF_SYMBOLIZE_LIBDW_NODES_H
#define SPROF_SYMBOLIZE_LIBDW_NODES_H

#include "symbolize/dwarf_tree.h"

#include <elfutils/libdw.h>

/* The entries that were met; each is its index + 1. Zero is a valid empty one. */
struct libdw_nodes {
    SPROF_VEC(Dwarf_Die) entries;
    struct sprof_map by_address; /* of an entry's bytes → index + 1 */
};

void symbolize_libdw_nodes_release(struct libdw_nodes *nodes);

/* The number of an entry; 0 where memory runs out. */
uint64_t symbolize_libdw_nodes_number(struct libdw_nodes *nodes, const Dwarf_Die *die);

/* The source is a struct libdw_nodes. */
extern const struct dwarf_tree_source libdw_nodes;

#endif
