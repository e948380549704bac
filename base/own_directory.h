/* Directories in which one process at a time works. */
#ifndef SPROF_BASE_OWN_DIRECTORY_H
#define SPROF_BASE_OWN_DIRECTORY_H

#include "base/error.h"

/* A directory that is held. Zero is not valid: SPROF_OWN_DIRECTORY_NONE is. */
struct sprof_own_directory {
    int fd;      /* of the directory */
    int lock_fd; /* holds the lock */
};
#define SPROF_OWN_DIRECTORY_NONE ((struct sprof_own_directory){-1, -1})

/* Makes the directory where it does not exist (mode 0700), and locks it by a file `lock` in it. The
 * lock ends with the process, or with sprof_own_directory_release. SPROF_EPERMISSION where others
 * may write into it, SPROF_ESTATE with `busy` as the message where another process holds it,
 * SPROF_ENOTFOUND and SPROF_EIO as the system says. On failure nothing is held. */
int sprof_own_directory_take(struct sprof_own_directory *directory, const char *path,
                             const char *busy, struct sprof_error *error);
void sprof_own_directory_release(struct sprof_own_directory *directory);

/* Opens a directory that was taken: no link of another user leads to another one (base/place.h).
 * Returns its descriptor or a negative code. */
int sprof_own_directory_open(const char *path, struct sprof_error *error);

/* The error of a system call that failed: SPROF_ENOTFOUND, SPROF_EPERMISSION, SPROF_EFULL or
 * SPROF_EIO by errno, as "cannot WHAT PATH: WHY". */
int sprof_system_error(struct sprof_error *error, const char *what, const char *path);

#endif
