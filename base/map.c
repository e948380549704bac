/* Implements the hash map: open addressing, a power of two of slots. */
#include "base/map.h"

#include "base/error.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static struct sprof_map_slot *find_slot(struct sprof_map_slot *slots, size_t capacity, uint64_t key)
{
    size_t index = (size_t)sprof_hash_mix(key) & (capacity - 1);
    while (slots[index].key && slots[index].key != key)
        index = (index + 1) & (capacity - 1);
    return &slots[index];
}

uint64_t *sprof_map_get(const struct sprof_map *map, uint64_t key)
{
    if (!key)
        return map->has_zero ? (uint64_t *)&map->zero_value : NULL;
    if (!map->capacity)
        return NULL;
    struct sprof_map_slot *slot = find_slot(map->slots, map->capacity, key);
    return slot->key ? &slot->value : NULL;
}

static int grow(struct sprof_map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : 16;
    struct sprof_map_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key)
            *find_slot(slots, capacity, map->slots[i].key) = map->slots[i];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return 0;
}

uint64_t *sprof_map_at(struct sprof_map *map, uint64_t key)
{
    if (!key) {
        map->zero_value = map->has_zero ? map->zero_value : 0;
        map->has_zero = 1;
        return &map->zero_value;
    }
    if ((map->count + 1) * 4 > map->capacity * 3 && grow(map))
        return NULL;
    struct sprof_map_slot *slot = find_slot(map->slots, map->capacity, key);
    if (!slot->key) {
        *slot = (struct sprof_map_slot){key, 0};
        map->count++;
    }
    return &slot->value;
}

int sprof_map_put(struct sprof_map *map, uint64_t key, uint64_t value)
{
    uint64_t *place = sprof_map_at(map, key);
    if (!place)
        return SPROF_ENOMEM;
    *place = value;
    return 0;
}

void sprof_map_clear(struct sprof_map *map)
{
    if (map->capacity)
        memset(map->slots, 0, map->capacity * sizeof *map->slots);
    map->count = 0;
    map->has_zero = 0;
}

void sprof_map_release(struct sprof_map *map)
{
    free(map->slots);
    *map = (struct sprof_map){0};
}
