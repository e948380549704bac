/* Opens a source file where it may be shown to those who get what sprof writes. */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether every directory of an absolute path, without links, may be searched by all. */
static bool is_way_open(char *path)
{
    struct stat facts;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool is_open = !stat(path, &facts) && (facts.st_mode & S_IXOTH);
        *slash = '/';
        if (!is_open)
            return false;
    }
    return true;
}

static bool is_below(const char *path, const char *directory)
{
    char *real = directory ? realpath(directory, NULL) : NULL;
    const size_t length = real ? strlen(real) : 0;
    const bool is = real && !strncmp(path, real, length) &&
                    (path[length] == '/' || (length == 1 && *path == '/'));
    free(real);
    return is;
}

static int check(int fd, const struct image_source_access *access)
{
    char link[64], path[PATH_MAX];
    struct stat facts;
    if (fstat(fd, &facts))
        return -errno;
    if (!S_ISREG(facts.st_mode))
        return -EINVAL;
    if (access->is_by_rights)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (is_below(path, access->named))
        return 0;
    return *path == '/' && (facts.st_mode & S_IROTH) && is_way_open(path) ? 0 : -EPERM;
}

int image_source_open(const char *path, const struct image_source_access *access)
{
    char link[64];
    const int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return -errno;
    int result = check(place, access);
    if (!result) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", place);
        result = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        result = result < 0 ? -errno : result;
    }
    close(place);
    return result;
}
