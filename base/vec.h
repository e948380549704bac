/* Growing arrays of any type, as a struct the caller declares with SPROF_VEC(type). */
#ifndef SPROF_BASE_VEC_H
#define SPROF_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

/* Zero is a valid empty vector. `items` moves when the vector grows: keep indexes, not pointers. */
#define SPROF_VEC(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* Makes room for at least `wanted` items of `item_size` bytes. Returns 0 or SPROF_ENOMEM, in which
 * case nothing has changed. Use through the macros below. */
int sprof_vec_grow(void **items, size_t *capacity, size_t item_size, size_t wanted);

#define sprof_vec_reserve(vec, wanted)                                                             \
    ((wanted) <= (vec)->capacity ? 0                                                               \
                                 : sprof_vec_grow((void **)&(vec)->items, &(vec)->capacity,        \
                                                  sizeof *(vec)->items, (wanted)))

/* Appends one item; evaluates to 0 or SPROF_ENOMEM. */
#define sprof_vec_push(vec, ...)                                                                   \
    (sprof_vec_reserve((vec), (vec)->count + 1)                                                    \
         ? SPROF_ENOMEM                                                                            \
         : ((vec)->items[(vec)->count++] = (__VA_ARGS__), 0))

#define sprof_vec_release(vec)                                                                     \
    (free((vec)->items), (vec)->items = NULL, (vec)->count = (vec)->capacity = 0)

#endif
