/* cache: what was computed once about a file's content, kept on disk from one recording to the
 * next.
 *
 * One file an entry, below $XDG_CACHE_HOME/sprof (else ~/.cache/sprof). An entry can vanish at any
 * moment and holds nothing that could not be computed again. Several processes may use the
 * directory at once. Every fault (no home, no room, a directory of another user or one that others
 * may write to, a damaged file) silently counts as an empty cache.
 *
 * Entries are as trustworthy as the user's own files: their length and checksum are right, but
 * a forged file has those, too. Check everything in an entry before use. */
#ifndef SPROF_CACHE_CACHE_H
#define SPROF_CACHE_CACHE_H

#include "base/base.h"

#include <stdbool.h>

/* What an entry holds, and the first part of its file's name. */
enum cache_kind {
    CACHE_IDENTITY, /* what stands for the content of a file: by device, inode, size and times */
    CACHE_TABLE,    /* unwind table */
    CACHE_STARTUP,  /* ranges of start-up code */
    CACHE_SYMBOLS,  /* ELF symbols */
    CACHE_LINES,    /* functions, inlined calls and lines of compile units */
    CACHE_PLAN,     /* where probes can be */
    CACHE_KINDS
};

enum {
    CACHE_ENTRY_BYTES_MAX = 256 << 20,
    CACHE_ALIGNMENT = 64,
};
#define CACHE_BYTES_MAX (UINT64_C(1) << 30) /* of all entries together */
#define CACHE_SLACK 64

/* Any number of threads may use one. */
struct cache;

/* Opens the user's cache, or the directory given: NULL where there is none to be had. */
struct cache *cache_open(const char *directory);

/* Frees it (NULL is allowed). First removes the entries that were unused for the longest time until
 * all fit into `bytes_max` (0: CACHE_BYTES_MAX), but only where the added entries are a
 * CACHE_SLACK-th of that together, or any were added and the last check is ten minutes ago. (To
 * look at a thousand files takes milliseconds.) */
void cache_free(struct cache *cache, uint64_t bytes_max);

/* The payload of an entry in allocated memory that begins at a multiple of CACHE_ALIGNMENT and is
 * the caller's to free; {NULL, 0} where there is none. A NULL cache is empty. */
struct sprof_bytes cache_get(struct cache *cache, enum cache_kind kind, struct sprof_digest key);

/* The entry's file, for a reader that takes only parts of it: open, of the right kind and length,
 * but its checksum is the reader's to check. *offset is where the payload begins, which goes on to
 * the end. -1 where there is none. The caller closes it. */
int cache_open_entry(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
                     uint64_t *offset);

/* Adds or replaces an entry, whose payload is the pieces one after the other. Others see all of it
 * or nothing. */
void cache_put(struct cache *cache, enum cache_kind kind, struct sprof_digest key,
               const struct sprof_bytes *pieces, size_t count);

/* == A cache that another process holds == */

/* The other process finds and keeps the entries of a process that cannot open files. Their keys
 * are mixed with `salt`, so that they are none of the other process's own. `open` returns a
 * descriptor that is the caller's to close, or -1. */
struct cache_relay {
    struct sprof_digest salt;
    int (*open)(void *context, enum cache_kind kind, struct sprof_digest key);
    void (*put)(void *context, enum cache_kind kind, struct sprof_digest key,
                const struct sprof_bytes *pieces, size_t count);
    void *context;
};

/* The relay is copied. NULL where memory runs out. */
struct cache *cache_open_relay(const struct cache_relay *relay);

/* Under which key the other process finds and keeps an entry. */
struct sprof_digest cache_salted(struct sprof_digest salt, struct sprof_digest key);

#endif
