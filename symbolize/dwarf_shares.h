/* symbolize, inside: several threads that read the units of one file. */
#ifndef SPROF_SYMBOLIZE_DWARF_SHARES_H
#define SPROF_SYMBOLIZE_DWARF_SHARES_H

#include "symbolize/dwarf_functions.h"

/* How many threads shorten it to read a file for so many addresses: as many as there are processors
 * to run on, up to four, and one for a small file. */
unsigned symbolize_dwarf_shares_threads(const struct dwarf *dwarf, size_t addresses);

/* As symbolize_dwarf_functions_add, which it leaves exactly the same index as. The caller is one of
 * the threads; where no other can be had, it does it all. */
void symbolize_dwarf_shares_add(struct dwarf_names *names, uint64_t delta,
                                const struct addresses *addresses, unsigned threads);

#endif
