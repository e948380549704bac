/* symbolize, inside: the wanted addresses, sorted, and the search in them. */
#ifndef SPROF_SYMBOLIZE_ADDRESSES_H
#define SPROF_SYMBOLIZE_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

struct addresses {
    const uint64_t *items; /* sorted, distinct */
    size_t count;
};

/* Index of the first address that is not below `value`; count where there is none. */
static inline size_t addresses_lower_bound(const struct addresses *addresses, uint64_t value)
{
    size_t low = 0, high = addresses->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (addresses->items[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
