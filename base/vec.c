/* Grows vectors. */
#include "base/vec.h"

#include "base/error.h"

#include <stdint.h>

int sprof_vec_grow(void **items, size_t *capacity, size_t item_size, size_t wanted)
{
    size_t grown = *capacity ? *capacity : 8;
    while (grown < wanted) {
        if (grown > SIZE_MAX / 2)
            return SPROF_ENOMEM;
        grown *= 2;
    }
    if (grown > SIZE_MAX / item_size)
        return SPROF_ENOMEM;
    void *moved = realloc(*items, grown * item_size);
    if (!moved)
        return SPROF_ENOMEM;
    *items = moved;
    *capacity = grown;
    return 0;
}
