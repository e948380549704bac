/* symbolize, inside: the code symbols of one image and of its debug file, as a list that can be
 * stored. */
#ifndef SPROF_SYMBOLIZE_SYMBOL_TABLE_H
#define SPROF_SYMBOLIZE_SYMBOL_TABLE_H

#include "symbolize/module.h"

struct symbol_entry {
    uint64_t start, size; /* vaddr */
    uint64_t section_end; /* vaddr where its section ends; 0: the section holds no code */
    uint32_t name;        /* offset in the texts */
    uint32_t rank;        /* how good a name it is: smaller is better */
};

/* Zero is a valid empty one. */
struct symbol_table {
    const struct symbol_entry *entries;
    size_t count;
    const char *texts; /* ends with a NUL */
    size_t text_bytes;
    bool ada; /* the image holds GNAT's start-up code */
    uint8_t *storage;
};

/* Gathers libdwfl's symbols of a module; where their names share most of their texts,
 * which no linker writes, only the first of them. Returns 0 or SPROF_ENOMEM. */
int symbolize_symbol_table_read(struct symbol_table *table, struct module *module);

/* Makes a table of stored bytes, which are its own from now on, after checking everything in them:
 * false, and empty, where something is not as it must be. */
bool symbolize_symbol_table_take(struct symbol_table *table, struct sprof_bytes bytes);

/* Looks a table up in the cache, or stores one that holds symbols. */
bool symbolize_symbol_table_find(struct symbol_table *table, struct cache *cache,
                                 struct sprof_digest key);
void symbolize_symbol_table_store(const struct symbol_table *table, struct cache *cache,
                                  struct sprof_digest key);

/* What decides a table's content: the image and its debug file, NULL where there is none. */
struct sprof_digest symbolize_symbol_table_key(struct image *image, struct image *debug,
                                               struct cache *cache);

void symbolize_symbol_table_release(struct symbol_table *table);

#endif
