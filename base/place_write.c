/* Writes a file beside its place and moves it there when it is complete. */
#include "base/place_write.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_whole(int fd, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t wrote = write(fd, bytes + done, size - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return wrote ? -errno : -EIO;
        done += (size_t)wrote;
    }
    return 0;
}

int sprof_place_write(const struct sprof_place *place, const void *bytes, size_t size, mode_t mode)
{
    char name[NAME_MAX + 1];
    if (place->opened_fd >= 0)
        return -EINVAL;
    const int fd = sprof_place_make_temporary(place, name);
    if (fd < 0)
        return fd;
    int result = write_whole(fd, bytes, size);
    if (!result && fchmod(fd, mode))
        result = -errno;
    if (close(fd) && !result)
        result = -errno;
    if (!result && renameat(place->directory_fd, name, place->directory_fd, place->name))
        result = -errno;
    if (result)
        unlinkat(place->directory_fd, name, 0);
    return result;
}

int sprof_place_refuse_link(const struct sprof_place *place, const char *path, int code,
                            struct sprof_error *error)
{
    return sprof_error_set(error, code, ELOOP,
                           "%s leads through the symbolic link %s, which another user could have "
                           "made, and sprof does not write through such links; name the file that "
                           "it should lead to, or use a directory of your own",
                           path, place->link);
}
