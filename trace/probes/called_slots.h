/* trace, inside: finds slots of the GOT that code uses for calls alone, as with -fno-plt. */
#ifndef SPROF_TRACE_PROBES_CALLED_SLOTS_H
#define SPROF_TRACE_PROBES_CALLED_SLOTS_H

#include "image/image.h"

/* Slots that relocations of type GLOB_DAT fill: such a one may also be read, as an address that is
 * compared or handed on. *slots: vaddr → 1, of those that all code calls or jumps through. Bytes
 * that only look like another use leave a slot out. Returns 0 or SPROF_ENOMEM. */
int trace_called_slots(struct image *image, struct sprof_map *slots);

#endif
