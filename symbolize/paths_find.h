/* symbolize, inside: finds the values that paths name in a function. */
#ifndef SPROF_SYMBOLIZE_PATHS_FIND_H
#define SPROF_SYMBOLIZE_PATHS_FIND_H

#include "base/suggest.h"
#include "base/vec.h"
#include "symbolize/paths.h"
#include "symbolize/types.h"

/* The variable of a name in the whole file, or the names near it. */
struct paths_global {
    const char *name; /* the path's */
    uint32_t name_length;
    bool is_found;
    Dwarf_Die found;
    uint64_t address;
    const char *why; /* of one that has no place; NULL: there was none */
    struct sprof_suggestions near;
};

/* All units are read once for each name, whatever the count of functions. Zero is empty. */
struct paths_globals {
    SPROF_VEC(struct paths_global) items;
};

struct paths_search {
    Dwarf *dwarf;
    struct paths_globals *globals; /* of `dwarf` */
    uint64_t delta;                /* DWARF's address = vaddr + delta */
    Dwarf_Die unit, function;
    struct types *types;
};

void symbolize_paths_globals_release(struct paths_globals *globals);

/* Fills in where the value of a path is for calls of the function, or the problem. */
void symbolize_paths_find(const struct paths_search *search, const struct symbolize_path *path,
                          const struct symbolize_signature *signature,
                          struct symbolize_located *located);

/* The type of an entry without qualifiers and other names. False: it is void, or not described. */
bool symbolize_paths_type(Dwarf_Die *holder, Dwarf_Die *type);

#endif
