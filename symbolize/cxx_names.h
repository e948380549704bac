/* symbolize, inside: what a demangler would print for C++ functions of which DWARF has no linkage
 * name. GCC writes none for what has internal linkage: static functions, what is in an anonymous
 * namespace, most lambdas. */
#ifndef SPROF_SYMBOLIZE_CXX_NAMES_H
#define SPROF_SYMBOLIZE_CXX_NAMES_H

#include "symbolize/dwarf_tree.h"

/* Zero but for the tree is a valid empty one. */
struct cxx_names {
    struct dwarf_tree tree;
    struct sprof_arena texts;
    struct sprof_map by_root; /* entry at the end of a chain of origins → index + 1 in `named` */
    SPROF_VEC(struct cxx_name) named;
};

struct cxx_name {
    const char
        *text; /* "(anonymous namespace)::Work::step(int)"; NULL: the entry's own name is it */
    uint64_t declared; /* of a function that is declared nowhere, the lambda or class that it
                          belongs to; 0 none */
};

void symbolize_cxx_names_release(struct cxx_names *names);

/* What is known of the function whose chain of origins and specifications ends with an entry. The
 * text lives as long as `names`. */
struct cxx_name symbolize_cxx_names_of(struct cxx_names *names, uint64_t root);

/* A class with its scopes and template arguments, "store::Box<int>"; NULL: it has no such name. The
 * text lives as long as `names`. */
const char *symbolize_cxx_names_of_class(struct cxx_names *names, uint64_t class);

#endif
