/* Finds GOT slots that code only calls, as with -fno-plt. */
#ifndef SPROF_PROBING_CALLED_SLOTS_H
#define SPROF_PROBING_CALLED_SLOTS_H

#include "image/image.h"

/* Code may also read slots of GLOB_DAT relocations as addresses. *slots: vaddr → 1; excludes slots
 * with anything like another use. Returns 0 or SPROF_ENOMEM. */
int probing_called_slots(struct image *image, struct sprof_map *slots);

#endif
