/* What debug information is held against: where an image has code, and how its sections are stored.
 */
#ifndef SPROF_IMAGE_CODE_H
#define SPROF_IMAGE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct image;

/* The stretches that hold code, in order of vaddr: executable sections, joined where they touch, or
 * executable segments where the file has no section headers. 0 where that is not known, as of a
 * file that is still to be linked, or memory ran out. The caller frees *stretches. */
struct image_stretch {
    uint64_t start, end; /* vaddr */
};
size_t image_code(const struct image *image, struct image_stretch **stretches);

/* How a section is compressed: ELFCOMPRESS_…; 0 where it is not, or is missing. */
uint32_t image_compression(const struct image *image, const char *name);

#endif
