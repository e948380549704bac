/* From an opened image to an unwind table: which sections, which roots. */
#ifndef SPROF_RECORDING_BUILD_H
#define SPROF_RECORDING_BUILD_H

#include "image/image.h"
#include "unwind/unwind.h"

/* Start-up functions found by symbol and by entry point: at most `capacity` ranges of vaddrs. */
size_t record_startup_ranges(struct image *image, const struct unwind_table *table,
                             struct unwind_range *ranges, size_t capacity);

/* Builds the table of an image, with .debug_frame of its debug file where the image has no call
 * frame information of its own. Returns what unwind_table_build returns. */
int record_build_table(struct unwind_table **table, struct image *image, struct sprof_error *error);

/* Opens the image of a mapping; "[vdso]" is taken from this process, which runs on the same kernel.
 */
int record_open_image(struct image **image, const struct image_request *request,
                      struct sprof_error *error);

#endif
