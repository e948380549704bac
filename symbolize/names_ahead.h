/* symbolize, inside: names that other threads read and demangle before they are needed. The
 * caller goes through the addresses from the first on and the others from the last, until they
 * meet. */
#ifndef SPROF_SYMBOLIZE_NAMES_AHEAD_H
#define SPROF_SYMBOLIZE_NAMES_AHEAD_H

#include "symbolize/addresses.h"
#include "symbolize/dwarf_names.h"

/* Zero is a valid one that has nothing. */
struct names_ahead {
    struct names_ahead_work *work; /* NULL: no other thread */
};

struct names_ahead_name {
    const char *demangled; /* of the linkage name; NULL: it is not mangled, or not tried yet */
    struct dwarf_said said;
};

/* Starts up to `threads` threads. Until symbolize_names_ahead_stop the addresses stay as they are,
 * and so do the index's pieces with their calls and ranges and DWARF's sections; descriptions,
 * texts and units may change. Where memory or threads run out, there are no names. */
void symbolize_names_ahead_start(struct names_ahead *ahead, const struct addresses *addresses,
                                 const struct dwarf_names *names, unsigned threads);

/* The caller has come to this address. */
void symbolize_names_ahead_reach(struct names_ahead *ahead, size_t address);

/* What symbolize_dwarf_names_read reads of a description of the index (its number, from 1); NULL
 * where that is the caller's to find out. Valid until symbolize_names_ahead_stop. */
const struct names_ahead_name *symbolize_names_ahead_find(const struct names_ahead *ahead,
                                                          uint32_t description);

/* Ends the threads and frees the names. */
void symbolize_names_ahead_stop(struct names_ahead *ahead);

#endif
