/* Hands out memory in large blocks that are given back all at once. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* Blocks double up to the larger one: many arenas of a short recording hold a few names. */
enum { FIRST_BLOCK_BYTES = 4 * 1024, BLOCK_BYTES = 64 * 1024 };

struct sprof_arena_block {
    struct sprof_arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char data[];
};

static struct sprof_arena_block *block_new(struct sprof_arena *arena, size_t size)
{
    size_t capacity = arena->bytes < BLOCK_BYTES ? arena->bytes : BLOCK_BYTES;
    if (capacity < FIRST_BLOCK_BYTES)
        capacity = FIRST_BLOCK_BYTES;
    if (capacity < size)
        capacity = size;
    struct sprof_arena_block *block = calloc(1, sizeof *block + capacity);
    if (!block)
        return NULL;
    block->size = capacity;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->bytes += sizeof *block + capacity;
    return block;
}

void *sprof_arena_alloc(struct sprof_arena *arena, size_t size)
{
    const size_t alignment = _Alignof(max_align_t);
    if (size > (size_t)-1 - 2 * BLOCK_BYTES)
        return NULL;
    size = size ? (size + alignment - 1) & ~(alignment - 1) : alignment;
    struct sprof_arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        block = block_new(arena, size);
        if (!block)
            return NULL;
    }
    void *memory = block->data + block->used;
    block->used += size;
    return memory;
}

char *sprof_arena_copy(struct sprof_arena *arena, const char *text, size_t length)
{
    char *copy = sprof_arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

char *sprof_arena_text(struct sprof_arena *arena, const char *text)
{
    return text ? sprof_arena_copy(arena, text, strlen(text)) : NULL;
}

void sprof_arena_release(struct sprof_arena *arena)
{
    while (arena->blocks) {
        struct sprof_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->bytes = 0;
}
