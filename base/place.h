/* Where a file is written: its directory as a descriptor and its name there, found without
 * following a link that another user could have made. */
#ifndef SPROF_BASE_PLACE_H
#define SPROF_BASE_PLACE_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Zero is not valid: SPROF_PLACE_NONE is. */
struct sprof_place {
    int directory_fd; /* O_PATH; -1: none */
    int opened_fd;    /* /dev/stdout, /dev/fd/N: that descriptor of the caller's; -1: a name */
    char name[NAME_MAX + 1];
    char link[PATH_MAX]; /* after -ELOOP, the link that is not followed */
};
#define SPROF_PLACE_NONE ((struct sprof_place){.directory_fd = -1, .opened_fd = -1})

/* Resolves a path part by part. A symbolic link, at the end, too, is followed where its directory
 * belongs to the caller or root and is not writable by others. The file itself need not exist; it
 * is no symbolic link, unless another user puts one there later: open it with O_NOFOLLOW. 0, or a
 * negative errno: -ELOOP of a link that is not followed, -EISDIR where the path names a directory
 * by its last part ("", ".", ".." or a slash). To be closed with sprof_place_close after success.
 */
int sprof_place_find(struct sprof_place *place, const char *path);

/* Writes the directory's path as it is now. False: it has none, or a longer one. */
bool sprof_place_directory(const struct sprof_place *place, char *path, size_t size);

/* Makes a new, empty file of mode 0600 beside the place, and writes its name, at most
 * NAME_MAX bytes. Returns its descriptor or a negative errno. */
int sprof_place_make_temporary(const struct sprof_place *place, char name[NAME_MAX + 1]);

/* Safe on SPROF_PLACE_NONE. */
void sprof_place_close(struct sprof_place *place);

#endif
