/* Writes a whole file at a place, and refuses links. */
#ifndef SPROF_BASE_PLACE_WRITE_H
#define SPROF_BASE_PLACE_WRITE_H

#include "base/place.h"

#include <stddef.h>

/* The file takes the place of an older one when it is complete. Returns 0 or a negative errno;
 * -EINVAL: the place is a descriptor. */
int sprof_place_write(const struct sprof_place *place, const void *bytes, size_t size, mode_t mode);

/* Sets the error of -ELOOP, with the link and a cure. Returns `code`. */
int sprof_place_refuse_link(const struct sprof_place *place, const char *path, int code,
                            struct sprof_error *error);

#endif
