/* symbolize, inside: functions flattened into what covers each of their addresses: inlined calls
 * and lines of the whole function, so that an address of it that is wanted later has its answer,
 * too. It grows by functions and can be stored. */
#ifndef SPROF_SYMBOLIZE_FUNCTION_INDEX_H
#define SPROF_SYMBOLIZE_FUNCTION_INDEX_H

#include "base/base.h"
#include "cache/cache.h"

#include <stdbool.h>

enum { INDEX_LEVELS_MAX = 200 }; /* of inlined calls in each other that are reported */

/* Texts are numbers that symbolize_function_index_text_of resolves, 0 for none. */

/* What a function is called and where it is declared. */
struct index_description {
    uint32_t linkage_name;
    uint32_t name; /* demangled; 0: not needed so far */
    uint32_t file, line, ada;
    uint32_t entry; /* in .debug_info, where all this is to be read; 0: it has been */
};

/* A stretch of code of one function. */
struct index_piece {
    uint64_t low, high;   /* vaddrs */
    uint32_t description; /* number from 1; 0: no function is known here */
    uint32_t first_call, call_count, first_range, range_count, first_line, line_count;
    uint32_t unused;
};

/* An inlined call. Calls count from 1 in each function, outer ones come first; parent 0 is the
 * function itself. */
struct index_call {
    uint32_t description, parent, file, line;
};

/* A range of a call, in the order of calls. Addresses count from the piece's low. */
struct index_range {
    uint32_t low, high, call;
};

/* The line that holds from an address on. */
struct index_line {
    uint32_t low, file, line;
};

/* Zero is a valid empty one. What was loaded lies in `storage` until symbolize_function_index_own.
 */
struct function_index {
    const char *loaded;        /* texts as they were stored, one after the other */
    uint32_t loaded_bytes;     /* numbers up to this one: the text begins at number - 1 */
    struct sprof_intern texts; /* those that were added: number - loaded_bytes */
    uint8_t *storage;          /* holds what was loaded */
    bool borrowed;             /* the vectors lie there */
    SPROF_VEC(struct index_description) descriptions; /* by number - 1 */
    SPROF_VEC(struct index_piece) pieces; /* sorted by low after symbolize_function_index_sort */
    SPROF_VEC(struct index_call) calls;
    SPROF_VEC(struct index_range) ranges;
    SPROF_VEC(struct index_line) lines;
    bool whole;  /* holds all functions that can be added to it */
    bool failed; /* memory ran out */
};

/* Makes the vectors the index's own, before anything is added to them. */
void symbolize_function_index_own(struct function_index *index);

/* The number of a text, which is added; and the text of a number, NULL for 0. */
uint32_t symbolize_function_index_text(struct function_index *index, const char *text);
const char *symbolize_function_index_text_of(const struct function_index *index, uint32_t number);

/* Appends what another index holds that was not loaded, as if it had been added here. Returns which
 * number each of its texts has here, by its number there, to be freed; NULL where memory runs out.
 */
uint32_t *symbolize_function_index_append(struct function_index *index,
                                          const struct function_index *other);

/* Brings the pieces into order; of pieces that overlap, the one that came first stays. */
void symbolize_function_index_sort(struct function_index *index);

/* The piece that holds an address, NULL where none does. */
const struct index_piece *symbolize_function_index_find(const struct function_index *index,
                                                        uint64_t vaddr);

/* The innermost inlined call that covers an address of a piece, and the one around a call; NULL:
 * the function itself. */
const struct index_call *symbolize_function_index_innermost(const struct function_index *index,
                                                            const struct index_piece *piece,
                                                            uint64_t vaddr);
const struct index_call *symbolize_function_index_outer(const struct function_index *index,
                                                        const struct index_piece *piece,
                                                        const struct index_call *inner);

/* The line of an address of a piece, NULL unknown. */
const struct index_line *symbolize_function_index_line(const struct function_index *index,
                                                       const struct index_piece *piece,
                                                       uint64_t vaddr);

/* Makes an empty index from stored bytes, which are its own from now on, after checking everything
 * in them: false where something is not as it must be. */
bool symbolize_function_index_take(struct function_index *index, struct sprof_bytes bytes);

/* Takes what is stored under a key; stores an index, whose texts have other numbers then. */
bool symbolize_function_index_load(struct function_index *index, struct cache *cache,
                                   struct sprof_digest key);
void symbolize_function_index_store(struct function_index *index, struct cache *cache,
                                    struct sprof_digest key);

void symbolize_function_index_release(struct function_index *index);

#endif
