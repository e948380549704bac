/* Makes and locks directories in which one process at a time works. */
#include "base/own_directory.h"

#include "base/place_write.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int sprof_system_error(struct sprof_error *error, const char *what, const char *path)
{
    const int number = errno;
    const enum sprof_code code = number == ENOENT                       ? SPROF_ENOTFOUND
                                 : number == EACCES || number == EPERM  ? SPROF_EPERMISSION
                                 : number == ENOSPC || number == EDQUOT ? SPROF_EFULL
                                                                        : SPROF_EIO;
    return sprof_error_set(error, code, number, "cannot %s %s: %s", what, path, strerror(number));
}

static int open_place(const char *path, bool make, struct sprof_error *error)
{
    struct sprof_place place;
    const int found = sprof_place_find(&place, path);
    if (found == -ELOOP)
        return sprof_place_refuse_link(&place, path, SPROF_EPERMISSION, error);
    if (found) {
        errno = -found;
        return sprof_system_error(error, "reach the directory", path);
    }
    int result;
    if (make && mkdirat(place.directory_fd, place.name, 0700) && errno != EEXIST)
        result = sprof_system_error(error, "make the directory", path);
    else if ((result = openat(place.directory_fd, place.name,
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) < 0)
        result = sprof_system_error(error, "open the directory", path);
    sprof_place_close(&place);
    return result;
}

/* Returns the descriptor, or a negative code. */
static int open_directory(const char *path, bool make, struct sprof_error *error)
{
    struct sprof_str name = {0};
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const int result = sprof_str_append_bytes(&name, path, length)
                           ? sprof_error_memory(error)
                           : open_place(name.text, make, error);
    sprof_str_release(&name);
    return result;
}

int sprof_own_directory_open(const char *path, struct sprof_error *error)
{
    return open_directory(path, false, error);
}

static int lock(struct sprof_own_directory *directory, const char *path, const char *busy,
                struct sprof_error *error)
{
    struct stat facts;
    if (fstat(directory->fd, &facts))
        return sprof_system_error(error, "read the directory", path);
    if (facts.st_uid != geteuid() || facts.st_mode & (S_IWGRP | S_IWOTH))
        return sprof_error_set(error, SPROF_EPERMISSION, 0,
                               "others may write into %s, which would let them replace recordings: "
                               "give a directory of your own (chmod go-w %s)",
                               path, path);
    directory->lock_fd =
        openat(directory->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (directory->lock_fd < 0)
        return sprof_system_error(error, "make a file in", path);
    return flock(directory->lock_fd, LOCK_EX | LOCK_NB)
               ? sprof_error_set(error, SPROF_ESTATE, 0, "%s", busy)
               : 0;
}

int sprof_own_directory_take(struct sprof_own_directory *directory, const char *path,
                             const char *busy, struct sprof_error *error)
{
    *directory = SPROF_OWN_DIRECTORY_NONE;
    int result = open_directory(path, true, error);
    if (result >= 0) {
        directory->fd = result;
        result = lock(directory, path, busy, error);
    }
    if (result)
        sprof_own_directory_release(directory);
    return result;
}

void sprof_own_directory_release(struct sprof_own_directory *directory)
{
    if (directory->fd >= 0)
        close(directory->fd);
    if (directory->lock_fd >= 0)
        close(directory->lock_fd);
    *directory = SPROF_OWN_DIRECTORY_NONE;
}
