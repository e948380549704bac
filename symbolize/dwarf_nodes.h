/* symbolize, inside: entries of .debug_info as the tree of DWARF takes them; each is its offset. */
#ifndef SPROF_SYMBOLIZE_DWARF_NODES_H
#define SPROF_SYMBOLIZE_DWARF_NODES_H

#include "symbolize/dwarf_tree.h"
#include "symbolize/dwarf_unit.h"

/* The source is a struct dwarf. */
extern const struct dwarf_tree_source dwarf_nodes;

#endif
