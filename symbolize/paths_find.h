/* symbolize, inside: finds the values that paths name in a function. */
#ifndef SPROF_SYMBOLIZE_PATHS_FIND_H
#define SPROF_SYMBOLIZE_PATHS_FIND_H

#include "symbolize/paths.h"
#include "symbolize/types.h"

struct paths_search {
    Dwarf *dwarf;
    uint64_t delta; /* DWARF's address = vaddr + delta */
    Dwarf_Die unit, function;
    struct types *types;
};

/* Fills in where the value of a path is for calls of the function, or the problem. */
void symbolize_paths_find(const struct paths_search *search, const struct symbolize_path *path,
                          const struct symbolize_signature *signature,
                          struct symbolize_located *located);

/* The type of an entry without qualifiers and other names. False: it is void, or not described. */
bool symbolize_paths_type(Dwarf_Die *holder, Dwarf_Die *type);

#endif
