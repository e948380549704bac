/* From an opened image to an unwind table: which sections, which roots; and the cache in which
 * it is found again. */
#ifndef SPROF_RECORDING_BUILD_H
#define SPROF_RECORDING_BUILD_H

#include "cache/cache.h"
#include "image/image.h"
#include "unwind/unwind.h"

/* More start-up functions than any libc has. */
enum { RECORDING_STARTUP_RANGES = 24 };

/* What unwinding needs of an image. Zero is a valid empty one. */
struct recording_built {
    struct unwind_table *table; /* the caller's to free; NULL: there is none */
    struct unwind_range startup[RECORDING_STARTUP_RANGES]; /* vaddrs of start-up code */
    size_t startup_count;
    struct sprof_digest key; /* in the cache */
    bool has_key;
};

/* Looks an image up in the cache (NULL: none): true where its table was there. Otherwise *built
 * holds the key under which recording_build stores it. */
bool recording_find_built(struct recording_built *built, struct image *image, struct cache *cache);

/* Builds the table of an image, with .debug_frame of its debug file where the image has no call
 * frame information of its own, and stores it, after a call of recording_find_built. Returns what
 * unwind_table_build returns; start-up code is found without a table, too. */
int recording_build(struct recording_built *built, struct image *image, struct cache *cache,
                    struct sprof_error *error);

/* Opens the image of a mapping; "[vdso]" is taken from this process, which runs on the same kernel.
 */
int recording_open_image(struct image **image, const struct image_request *request,
                         struct sprof_error *error);

#endif
