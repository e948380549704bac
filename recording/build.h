/* From an opened image to an unwind table: which sections, which roots; and the cache in which
 * it is found again. */
#ifndef SPROF_RECORDING_BUILD_H
#define SPROF_RECORDING_BUILD_H

#include "cache/cache.h"
#include "image/image.h"
#include "unwind/unwind.h"

/* More start-up functions than any libc has. */
enum { RECORD_STARTUP_RANGES = 24 };

/* What unwinding needs of an image. Zero is a valid empty one. */
struct record_built {
    struct unwind_table *table; /* the caller's to free; NULL: there is none */
    struct unwind_range startup[RECORD_STARTUP_RANGES]; /* vaddrs of start-up code */
    size_t startup_count;
    struct sprof_digest key; /* in the cache */
    bool has_key;
};

/* Looks an image up in the cache (NULL: none): true where its table was there. Otherwise *built
 * holds the key under which record_build stores it. */
bool record_find_built(struct record_built *built, struct image *image, struct cache *cache);

/* Builds the table of an image, with .debug_frame of its debug file where the image has no call
 * frame information of its own, and stores it, after a call of record_find_built. Returns what
 * unwind_table_build returns; start-up code is found without a table, too. */
int record_build(struct record_built *built, struct image *image, struct cache *cache,
                 struct sprof_error *error);

/* Opens the image of a mapping; "[vdso]" is taken from this process, which runs on the same kernel.
 */
int record_open_image(struct image **image, const struct image_request *request,
                      struct sprof_error *error);

#endif
