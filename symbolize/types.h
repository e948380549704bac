/* symbolize, inside: types of values by libdw's entries. */
#ifndef SPROF_SYMBOLIZE_TYPES_H
#define SPROF_SYMBOLIZE_TYPES_H

#include "symbolize/cxx_names.h"
#include "symbolize/libdw_nodes.h"
#include "symbolize/signature.h"

#include <elfutils/libdw.h>

struct types {
    struct sprof_arena *arena;
    struct sprof_map known; /* address of an entry → of its struct symbolize_type */
    bool failed;            /* memory ran out */
    struct libdw_nodes nodes;
    struct cxx_names cxx; /* of classes, by their number in `nodes` */
};

void types_release(struct types *types);

/* The type to which an entry's DW_AT_type leads; void where it has none. Never NULL, unless memory
 * runs out. */
const struct symbolize_type *symbolize_types_of(struct types *types, Dwarf_Die *die);

/* How values of a type are passed. */
enum types_passing {
    TYPES_NOTHING, /* empty classes are not passed */
    TYPES_IN_ONE,  /* register, of each eight bytes one */
    TYPES_IN_TWO,
    TYPES_IN_MEMORY,
    TYPES_UNSURE, /* the type is not known well enough */
};

/* *is_vector: whether the registers of the first and second eight bytes are vector ones. */
enum types_passing symbolize_types_classify(const struct symbolize_type *type, bool is_vector[2]);

#endif
