/* Numbers texts so that equal ones have one number. */
#include "base/intern.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

/* Among the strings of one hash. */
static uint32_t find_among(const struct sprof_intern *table, uint32_t number, const char *text)
{
    while (number && strcmp(table->texts[number - 1], text) != 0)
        number = table->next[number - 1];
    return number;
}

uint32_t sprof_intern_find(const struct sprof_intern *table, const char *text)
{
    if (!text)
        return 0;
    const uint64_t *first = sprof_map_get(&table->first, sprof_hash_text(text));
    return first ? find_among(table, (uint32_t)*first, text) : 0;
}

static int make_room(struct sprof_intern *table)
{
    if (table->count < table->capacity)
        return 0;
    size_t capacity = table->capacity;
    if (sprof_vec_grow((void **)&table->next, &capacity, sizeof *table->next, table->count + 1))
        return SPROF_ENOMEM;
    capacity = table->capacity;
    if (sprof_vec_grow((void **)&table->texts, &capacity, sizeof *table->texts, table->count + 1))
        return SPROF_ENOMEM;
    table->capacity = capacity;
    return 0;
}

int sprof_intern_put(struct sprof_intern *table, const char *text, uint32_t *number)
{
    *number = 0;
    if (!text)
        return 0;
    const size_t length = strlen(text);
    uint64_t *first = sprof_map_at(&table->first, sprof_hash_bytes(text, length));
    if (!first)
        return SPROF_ENOMEM;
    const uint32_t older = (uint32_t)*first; /* 0: none */
    *number = find_among(table, older, text);
    if (*number)
        return 0;
    char *copy = sprof_arena_copy(&table->arena, text, length);
    if (!copy || make_room(table))
        return SPROF_ENOMEM;
    table->texts[table->count] = copy;
    table->next[table->count] = older;
    *number = (uint32_t)++table->count;
    *first = *number;
    return 0;
}

const char *sprof_intern_text(const struct sprof_intern *table, uint32_t number)
{
    return number && number <= table->count ? table->texts[number - 1] : NULL;
}

void sprof_intern_release(struct sprof_intern *table)
{
    sprof_arena_release(&table->arena);
    sprof_map_release(&table->first);
    free(table->texts);
    free(table->next);
    *table = (struct sprof_intern){0};
}
