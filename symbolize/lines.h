/* symbolize, inside: what DWARF says of one address or one entry. Texts live as long as the module.
 */
#ifndef SPROF_SYMBOLIZE_LINES_H
#define SPROF_SYMBOLIZE_LINES_H

#include "symbolize/cxx_names.h"
#include "symbolize/flatten.h"
#include "symbolize/libdw_nodes.h"

struct place {
    const char *file; /* NULL unknown */
    uint32_t line;    /* 0 unknown */
};

/* Of an address, by the line table of its unit. */
struct place symbolize_lines_of_address(struct flat *flat, size_t address);

/* Where an inlined call was written. */
struct place symbolize_lines_of_call(struct flat *flat, uint32_t entry);

/* What a function is called and where it is declared, also through abstract origins and
 * specifications. */
struct description {
    const char *linkage_name; /* falls back to the name; NULL: it has none */
    const char *demangled;    /* NULL: not known yet */
    struct place declared;
    bool ada;
};
/* Names that DWARF does not have are made in `cxx`, of entries in `nodes`. */
struct description symbolize_lines_describe(const Dwarf_Die *die, struct cxx_names *cxx,
                                            struct libdw_nodes *nodes);

/* The entry at the end of the chain of abstract origins: equal for all inlined calls of a function.
 */
const void *symbolize_lines_identity(const Dwarf_Die *die);

#endif
