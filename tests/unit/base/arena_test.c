#include "base/base.h"

#include <CUnit/CUnit.h>
#include <stdbool.h>

enum { MORE_THAN_A_BLOCK = 300000 };

static bool all_zero(const unsigned char *memory, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memory[i])
            return false;
    return true;
}

static void test_memory_is_zeroed_aligned_and_kept(void)
{
    struct sprof_arena arena = {0};
    SPROF_VEC(unsigned char *) pieces = {0};
    bool zero = true, aligned = true, kept = true;
    for (size_t i = 0; i < 3000; i++) {
        unsigned char *piece = sprof_arena_alloc(&arena, i % 200);
        CU_ASSERT_PTR_NOT_NULL_FATAL(piece);
        zero &= all_zero(piece, i % 200);
        aligned &= (uintptr_t)piece % _Alignof(max_align_t) == 0;
        memset(piece, (int)(i % 251) + 1, i % 200);
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&pieces, piece), 0);
    }
    for (size_t i = 0; i < 3000; i++)
        for (size_t k = 0; k < i % 200; k++)
            kept &= pieces.items[i][k] == i % 251 + 1;
    CU_ASSERT_TRUE(zero);
    CU_ASSERT_TRUE(aligned);
    CU_ASSERT_TRUE(kept);
    sprof_vec_release(&pieces);
    sprof_arena_release(&arena);
}

static void test_size_zero_is_distinct(void)
{
    struct sprof_arena arena = {0};
    const char *first = sprof_arena_alloc(&arena, 0), *second = sprof_arena_alloc(&arena, 0);
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT_PTR_NOT_NULL(second);
    CU_ASSERT_PTR_NOT_EQUAL(first, second);
    sprof_arena_release(&arena);
}

static void test_larger_than_a_block(void)
{
    struct sprof_arena arena = {0};
    char *small = sprof_arena_alloc(&arena, 10);
    unsigned char *large = sprof_arena_alloc(&arena, MORE_THAN_A_BLOCK);
    CU_ASSERT_PTR_NOT_NULL_FATAL(small);
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    CU_ASSERT_TRUE(all_zero(large, MORE_THAN_A_BLOCK));
    memset(large, 1, MORE_THAN_A_BLOCK);
    CU_ASSERT_PTR_NOT_NULL(sprof_arena_alloc(&arena, 10));
    CU_ASSERT_EQUAL(small[9], 0);
    CU_ASSERT_TRUE(arena.bytes >= MORE_THAN_A_BLOCK);
    sprof_arena_release(&arena);
}

static void test_impossible_size(void)
{
    struct sprof_arena arena = {0};
    CU_ASSERT_PTR_NULL(sprof_arena_alloc(&arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(sprof_arena_alloc(&arena, SIZE_MAX - 100));
    CU_ASSERT_PTR_NOT_NULL(sprof_arena_alloc(&arena, 1));
    sprof_arena_release(&arena);
}

static void test_copies_of_text(void)
{
    struct sprof_arena arena = {0};
    char text[] = "main";
    const char *whole = sprof_arena_text(&arena, text), *part = sprof_arena_copy(&arena, text, 2);
    const char *with_nul = sprof_arena_copy(&arena, "a\0b", 3);
    text[0] = 'X';
    CU_ASSERT_STRING_EQUAL(whole, "main");
    CU_ASSERT_STRING_EQUAL(part, "ma");
    CU_ASSERT_EQUAL(memcmp(with_nul, "a\0b", 4), 0);
    CU_ASSERT_STRING_EQUAL(sprof_arena_copy(&arena, NULL, 0), "");
    CU_ASSERT_PTR_NULL(sprof_arena_text(&arena, NULL));
    sprof_arena_release(&arena);
}

static void test_released_is_empty_and_usable(void)
{
    struct sprof_arena arena = {0};
    sprof_arena_release(&arena);
    sprof_arena_alloc(&arena, 5);
    sprof_arena_release(&arena);
    CU_ASSERT_EQUAL(arena.bytes, 0);
    CU_ASSERT_PTR_NULL(arena.blocks);
    CU_ASSERT_PTR_NOT_NULL(sprof_arena_alloc(&arena, 5));
    sprof_arena_release(&arena);
}

void sprof_suite_base_arena(void);
void sprof_suite_base_arena(void)
{
    CU_pSuite suite = CU_add_suite("base/arena", NULL, NULL);
    CU_add_test(suite, "zeroed, aligned, kept", test_memory_is_zeroed_aligned_and_kept);
    CU_add_test(suite, "size 0 is distinct", test_size_zero_is_distinct);
    CU_add_test(suite, "larger than a block", test_larger_than_a_block);
    CU_add_test(suite, "impossible size", test_impossible_size);
    CU_add_test(suite, "copies of text", test_copies_of_text);
    CU_add_test(suite, "released is empty and usable", test_released_is_empty_and_usable);
}
