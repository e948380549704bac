/* Memory that is given back all at once: frames, strings and tree nodes of one recording. */
#ifndef SPROF_BASE_ARENA_H
#define SPROF_BASE_ARENA_H

#include <stddef.h>

struct sprof_arena_block;

/* Zero is a valid empty arena. Not safe for concurrent use. */
struct sprof_arena {
    struct sprof_arena_block *blocks;
    size_t bytes; /* asked from malloc so far */
};

/* Returns zeroed memory aligned for any type, or NULL when malloc fails. The memory lives until
 * sprof_arena_release. A size of 0 returns a valid, distinct pointer. */
void *sprof_arena_alloc(struct sprof_arena *arena, size_t size);

/* Copies `length` bytes and ends them with a NUL. NULL when malloc fails. */
char *sprof_arena_copy(struct sprof_arena *arena, const char *text, size_t length);

/* Copies a NUL-terminated string; NULL stays NULL. */
char *sprof_arena_text(struct sprof_arena *arena, const char *text);

/* Frees everything and leaves an empty arena. */
void sprof_arena_release(struct sprof_arena *arena);

#endif
