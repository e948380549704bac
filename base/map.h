/* A hash map from 64-bit keys to 64-bit values: open addressing, no deletion of single keys. */
#ifndef SPROF_BASE_MAP_H
#define SPROF_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct sprof_map_slot {
    uint64_t key, value;
};

/* Zero is a valid empty map. Key 0 is allowed. Not safe for concurrent use. */
struct sprof_map {
    struct sprof_map_slot *slots;
    size_t count, capacity; /* capacity is 0 or a power of two; key 0 lives beside the slots */
    uint64_t zero_value;
    int has_zero;
};

/* Returns the place of the value, or NULL where the key is absent. Valid until the next put. */
uint64_t *sprof_map_get(const struct sprof_map *map, uint64_t key);

/* Returns the place of the value, which is 0 where the key is new; NULL when out of memory. Valid
 * until the next put. */
uint64_t *sprof_map_at(struct sprof_map *map, uint64_t key);

/* Inserts or overwrites. Returns 0 or SPROF_ENOMEM, in which case nothing has changed. */
int sprof_map_put(struct sprof_map *map, uint64_t key, uint64_t value);

/* Forgets all keys and keeps the memory. */
void sprof_map_clear(struct sprof_map *map);

void sprof_map_release(struct sprof_map *map);

#endif
