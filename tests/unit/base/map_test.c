#include "base/base.h"

#include <CUnit/CUnit.h>

static uint64_t value_of(const struct sprof_map *map, uint64_t key)
{
    const uint64_t *value = sprof_map_get(map, key);
    return value ? *value : UINT64_MAX;
}

static void test_the_place_of_a_key(void)
{
    struct sprof_map map = {0};
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t *place = sprof_map_at(&map, i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(place);
        CU_ASSERT_EQUAL(*place, 0);
        *place = i + 1;
    }
    CU_ASSERT_EQUAL(map.count, 99); /* key 0 lies beside the others */
    for (uint64_t i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(*sprof_map_at(&map, i), i + 1);
    CU_ASSERT_EQUAL(map.count, 99);
    sprof_map_clear(&map);
    CU_ASSERT_EQUAL(*sprof_map_at(&map, 0), 0);
    sprof_map_release(&map);
}

static void test_empty(void)
{
    struct sprof_map map = {0};
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 0));
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 1));
    sprof_map_clear(&map);
    sprof_map_release(&map);
    CU_ASSERT_PTR_NULL(map.slots);
}

static void test_growth_keeps_every_key(void)
{
    struct sprof_map map = {0};
    size_t wrong = 0;
    for (uint64_t i = 1; i <= 20000; i++)
        wrong += sprof_map_put(&map, i << 40, i) != 0;
    for (uint64_t i = 1; i <= 20000; i++)
        wrong += value_of(&map, i << 40) != i;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(map.count, 20000);
    CU_ASSERT_TRUE(map.count < map.capacity);
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 1));
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, UINT64_MAX));
    sprof_map_release(&map);
}

static void test_overwriting(void)
{
    struct sprof_map map = {0};
    CU_ASSERT_EQUAL(sprof_map_put(&map, 5, 1), 0);
    CU_ASSERT_EQUAL(sprof_map_put(&map, 5, 2), 0);
    CU_ASSERT_EQUAL(value_of(&map, 5), 2);
    CU_ASSERT_EQUAL(map.count, 1);
    *sprof_map_get(&map, 5) = 3;
    CU_ASSERT_EQUAL(value_of(&map, 5), 3);
    sprof_map_release(&map);
}

static void test_key_zero_is_a_key(void)
{
    struct sprof_map map = {0};
    CU_ASSERT_EQUAL(sprof_map_put(&map, 1, 10), 0);
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 0));
    CU_ASSERT_EQUAL(sprof_map_put(&map, 0, 0), 0);
    CU_ASSERT_EQUAL(value_of(&map, 0), 0);
    CU_ASSERT_EQUAL(sprof_map_put(&map, 0, 9), 0);
    for (uint64_t i = 1; i < 100; i++)
        CU_ASSERT_EQUAL(sprof_map_put(&map, i, i), 0);
    CU_ASSERT_EQUAL(value_of(&map, 0), 9);
    sprof_map_clear(&map);
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 0));
    sprof_map_release(&map);
}

static void test_clear_keeps_the_memory(void)
{
    struct sprof_map map = {0};
    for (uint64_t i = 1; i < 100; i++)
        CU_ASSERT_EQUAL(sprof_map_put(&map, i, i), 0);
    const size_t capacity = map.capacity;
    sprof_map_clear(&map);
    CU_ASSERT_EQUAL(map.count, 0);
    CU_ASSERT_EQUAL(map.capacity, capacity);
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, 7));
    CU_ASSERT_EQUAL(sprof_map_put(&map, 7, 1), 0);
    CU_ASSERT_EQUAL(value_of(&map, 7), 1);
    sprof_map_release(&map);
}

void sprof_suite_base_map(void);
void sprof_suite_base_map(void)
{
    CU_pSuite suite = CU_add_suite("base/map", NULL, NULL);
    CU_add_test(suite, "the place of a key", test_the_place_of_a_key);
    CU_add_test(suite, "empty", test_empty);
    CU_add_test(suite, "growth keeps every key", test_growth_keeps_every_key);
    CU_add_test(suite, "overwriting", test_overwriting);
    CU_add_test(suite, "key 0 is a key", test_key_zero_is_a_key);
    CU_add_test(suite, "clear keeps the memory", test_clear_keeps_the_memory);
}
