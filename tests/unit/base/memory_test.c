/* Fails the n-th allocation, for every n: each call must say SPROF_ENOMEM, leave what was there as
 * it was, and leave things so that they can be released. */
#include "tests/unit/scarce_memory.h"

#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdbool.h>
#include <stdio.h>

static int use_arena(void)
{
    struct sprof_arena arena = {0};
    bool done = true;
    for (size_t i = 1; i < 40 && done; i++) {
        const size_t before = arena.bytes;
        char *text = sprof_arena_copy(&arena, "text", 4);
        done = text && sprof_arena_alloc(&arena, i * 4000);
        if (!text)
            CU_ASSERT_EQUAL(arena.bytes, before);
    }
    sprof_arena_release(&arena);
    return done ? 0 : SPROF_ENOMEM;
}

static int use_map(void)
{
    struct sprof_map map = {0};
    int result = 0;
    uint64_t put = 0;
    while (put < 500 && !result) {
        result = sprof_map_put(&map, put, ~put);
        put += !result;
    }
    for (uint64_t key = 0; key < put; key++) {
        const uint64_t *value = sprof_map_get(&map, key);
        CU_ASSERT_TRUE(value && *value == ~key);
    }
    CU_ASSERT_PTR_NULL(sprof_map_get(&map, put));
    sprof_map_release(&map);
    return result;
}

static int use_intern(void)
{
    struct sprof_intern table = {0};
    int result = 0;
    char text[16];
    uint32_t put = 0, number;
    while (put < 100 && !result) {
        snprintf(text, sizeof text, "f%u", put + 1);
        result = sprof_intern_put(&table, text, &number);
        put += !result;
        CU_ASSERT_EQUAL(number, result ? 0 : put);
    }
    for (uint32_t i = 1; i <= put; i++) {
        snprintf(text, sizeof text, "f%u", i);
        CU_ASSERT_EQUAL(sprof_intern_find(&table, text), i);
    }
    scarce_memory_set(-1); /* there is memory again: it goes on where it stopped */
    CU_ASSERT_PTR_NULL(sprof_intern_text(&table, put + 1));
    CU_ASSERT_EQUAL(sprof_intern_put(&table, "later", &number), 0);
    CU_ASSERT_EQUAL(number, put + 1);
    sprof_intern_release(&table);
    return result;
}

static int use_str(void)
{
    struct sprof_str str = {0};
    size_t length = 0;
    for (int i = 0; i < 50; i++) {
        if (!sprof_str_append(&str, "ab"))
            length += 2;
        if (!sprof_str_appendf(&str, "%03d", i))
            length += 3;
        CU_ASSERT_EQUAL(str.length, length);
    }
    CU_ASSERT_EQUAL(str.text ? strlen(str.text) : 0, length);
    const int result = str.failed ? SPROF_ENOMEM : 0;
    sprof_str_release(&str);
    return result;
}

static int use_vec(void)
{
    SPROF_VEC(uint64_t) numbers = {0};
    int result = 0;
    for (uint64_t i = 0; i < 100 && !result; i++)
        result = sprof_vec_push(&numbers, i);
    for (size_t i = 0; i < numbers.count; i++)
        CU_ASSERT_EQUAL(numbers.items[i], i);
    sprof_vec_release(&numbers);
    return result;
}

static void test_arena(void)
{
    scarce_memory_fail_each(use_arena, 3);
}

static void test_map(void)
{
    scarce_memory_fail_each(use_map, 3);
}

static void test_intern(void)
{
    scarce_memory_fail_each(use_intern, 3);
}

static void test_str(void)
{
    scarce_memory_fail_each(use_str, 3);
}

static void test_vec(void)
{
    scarce_memory_fail_each(use_vec, 3);
}

void sprof_suite_base_memory(void);
void sprof_suite_base_memory(void)
{
    CU_pSuite suite = CU_add_suite("base/memory", NULL, NULL);
    CU_add_test(suite, "arena", test_arena);
    CU_add_test(suite, "map", test_map);
    CU_add_test(suite, "intern", test_intern);
    CU_add_test(suite, "str", test_str);
    CU_add_test(suite, "vec", test_vec);
}
