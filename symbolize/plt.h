/* symbolize, inside: entries of the procedure linkage table, which have no symbols of their own. */
#ifndef SPROF_SYMBOLIZE_PLT_H
#define SPROF_SYMBOLIZE_PLT_H

#include "symbolize/symbolize.h"

/* Zero, with `image` set, is ready for use. */
struct plt {
    struct image *image;
    uint64_t steps; /* relocations and symbols looked at so far: damaged files end somewhere */
};

/* The entry that covers an address, found by the slot it jumps through: true, its
 * bounds, and the name of the function it leads to, which lives as long as the image's sections. */
bool symbolize_plt_find(struct plt *plt, uint64_t vaddr, const char **name, uint64_t *start,
                        uint64_t *size);

#endif
