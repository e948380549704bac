/* Opens a source file where all readers of sprof's output may see it. */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool is_in_group(const struct image_source_user *user, gid_t gid)
{
    bool is = user->gid == gid;
    for (const char *at = user->groups; *at && !is;) {
        char *end;
        is = strtoul(at, &end, 10) == gid;
        at = end == at ? "" : end;
    }
    return is;
}

/* Whether a user has a right, S_IROTH or S_IXOTH. Not all of the user's groups may be known, and a
 * list of further rights may take some away: others have what the group has, too, and where there
 * is a list only the owner's rights count. */
static bool has_right(const char *path, const struct stat *facts,
                      const struct image_source_user *user, mode_t right)
{
    if (!user->uid)
        return true;
    if (facts->st_uid == user->uid)
        return facts->st_mode & right << 6;
    if (!(facts->st_mode & right << 3) || getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
        return false;
    return (facts->st_mode & right) || is_in_group(user, facts->st_gid);
}

/* Whether a user may read a file that was opened, and search each directory on its way. */
static bool may_read(char *path, const struct stat *file, const struct image_source_user *user)
{
    struct stat facts;
    if (*path != '/' || stat("/", &facts) || !has_right("/", &facts, user, S_IXOTH))
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool is_open = !stat(path, &facts) && has_right(path, &facts, user, S_IXOTH);
        *slash = '/';
        if (!is_open)
            return false;
    }
    return has_right(path, file, user, S_IROTH);
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
    static const struct image_source_user any = {(uid_t)-1, (gid_t)-1, ""};
    const struct image_source_users *users = access->users;
    bool may = users && users->count ? true : may_read(path, &facts, &any);
    for (size_t i = 0; users && i < users->count && may; i++)
        may = may_read(path, &facts, &users->items[i]);
    return may ? 0 : -EPERM;
}

/* Nothing waits for a lease that the owner of the file holds on it. */
int image_source_open(const char *path, const struct image_source_access *access)
{
    char link[64];
    const int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return -errno;
    int result = check(place, access);
    if (!result) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", place);
        result = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        result = result < 0 ? -errno : result;
    }
    close(place);
    return result;
}
