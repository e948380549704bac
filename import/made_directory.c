/* Makes directories beside a place, which another user could exchange, and removes them. */
#include "import/made_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another user could have exchanged it since it was made. */
static int open_made(int directory_fd, const char *name)
{
    struct stat facts;
    const int fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    if (!fstat(fd, &facts) && facts.st_uid == geteuid())
        return fd;
    close(fd);
    return -EPERM;
}

int import_made_directory_make(const struct sprof_place *place, char name[NAME_MAX + 1])
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t lot; /* another user cannot make all of them before */
        if (getrandom(&lot, sizeof lot, 0) != sizeof lot)
            return -errno;
        if (snprintf(name, NAME_MAX + 1, "%s.%08x", place->name, lot) > NAME_MAX)
            return -ENAMETOOLONG;
        if (!mkdirat(place->directory_fd, name, 0700))
            return open_made(place->directory_fd, name);
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

void import_made_directory_remove(const struct sprof_place *place, const char *name, int fd)
{
    DIR *directory = fdopendir(fd);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    if (directory)
        closedir(directory);
    else
        close(fd);
    unlinkat(place->directory_fd, name, AT_REMOVEDIR);
}
