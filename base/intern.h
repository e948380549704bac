/* A table of distinct strings, each with a small number. */
#ifndef SPROF_BASE_INTERN_H
#define SPROF_BASE_INTERN_H

#include "base/arena.h"
#include "base/map.h"

#include <stdint.h>

/* Zero is a valid empty table. Numbers are 1, 2, 3 … in order of arrival; 0 is the NULL string. */
struct sprof_intern {
    struct sprof_arena arena;
    struct sprof_map first; /* hash → number of the newest string with it */
    const char **texts;     /* [number - 1] */
    uint32_t *next;         /* [number - 1]: an older string with the same hash, or 0 */
    size_t count, capacity;
};

/* Returns 0 and the number of `text` in *number, or SPROF_ENOMEM. NULL gets number 0. */
int sprof_intern_put(struct sprof_intern *table, const char *text, uint32_t *number);

/* The number of `text`, or 0 where it is absent. */
uint32_t sprof_intern_find(const struct sprof_intern *table, const char *text);

/* The string of a number: NULL for 0 and for numbers never given. Lives as long as the table. */
const char *sprof_intern_text(const struct sprof_intern *table, uint32_t number);

void sprof_intern_release(struct sprof_intern *table);

#endif
