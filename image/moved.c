/* Instructions that were moved when probes were put into a file. */
#include "image/image.h"

#include <string.h>

static struct image_moved moved_at(struct sprof_bytes list, size_t index)
{
    struct image_moved moved;
    memcpy(&moved, list.data + index * sizeof moved, sizeof moved);
    return moved;
}

uint64_t image_before_move(struct image *image, uint64_t vaddr)
{
    struct image_extent extent;
    if (!image_section_extent(image, IMAGE_MOVED_SECTION, &extent))
        return vaddr;
    const struct sprof_bytes list = image_section(image, IMAGE_MOVED_SECTION, NULL);
    size_t low = 0, high = list.size / sizeof(struct image_moved);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (moved_at(list, middle).now <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    const uint64_t before = low ? moved_at(list, low - 1).before : 0;
    return before ? before : vaddr;
}
