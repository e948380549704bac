/* Finds the directory in which a file is written, following only links of the caller or root. */
#include "base/place.h"
#include "base/trusted_way.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

enum { LINKS_MAX = 40, TRIES = 100 };

/* The way that is left, and where it has led. */
struct place_walk {
    char rest[PATH_MAX];
    int fd;
    int links;
    uid_t root;     /* owner of / */
    bool is_others; /* another user can exchange names on the way */
    bool is_shared; /* others may put names into the directory where it is */
};

/* The directory's owner decides what is in it, and so do the users that may write it. */
static bool is_trusted(int directory_fd)
{
    struct stat facts;
    return !fstat(directory_fd, &facts) && (!facts.st_uid || facts.st_uid == geteuid()) &&
           !(facts.st_mode & (S_IWGRP | S_IWOTH));
}

/* A sticky directory keeps the names that are there. */
static void note_passed(struct place_walk *walk)
{
    const mode_t others = geteuid() ? S_IWOTH : S_IWGRP | S_IWOTH;
    struct stat facts = {0};
    const bool is_known = !fstat(walk->fd, &facts);
    walk->is_shared = facts.st_mode & others;
    walk->is_others |= !is_known || (walk->is_shared && !(facts.st_mode & S_ISVTX)) ||
                       (facts.st_uid && facts.st_uid != geteuid() && facts.st_uid != walk->root);
}

static int enter(struct place_walk *walk, const char *name, int flags)
{
    const int fd = openat(walk->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    if (fd < 0)
        return -errno;
    close(walk->fd);
    walk->fd = fd;
    note_passed(walk);
    return 0;
}

/* The number of the descriptor that a name in the caller's own /proc/self/fd leads to; -1: it is
 * none. */
static int own_descriptor(const struct place_walk *walk, const char *name)
{
    struct stat own, here;
    char *end;
    if (stat("/proc/self/fd", &own) || fstat(walk->fd, &here) || own.st_dev != here.st_dev ||
        own.st_ino != here.st_ino)
        return -1;
    const long number = strtol(name, &end, 10);
    return end != name && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
}

static bool is_of_proc(int fd)
{
    struct statfs system;
    return !fstatfs(fd, &system) && system.f_type == PROC_SUPER_MAGIC;
}

/* Puts the link's text in the place of its name. */
static int follow(struct place_walk *walk, struct sprof_place *place, const char *name, bool last)
{
    char target[PATH_MAX], rest[PATH_MAX];
    const ssize_t length = readlinkat(walk->fd, name, target, sizeof target - 1);
    if (length < 0)
        return -errno;
    target[length] = '\0';
    if (!is_trusted(walk->fd) || ++walk->links > LINKS_MAX) {
        snprintf(place->link, sizeof place->link, "%s", name);
        return -ELOOP;
    }
    snprintf(rest, sizeof rest, "%s", walk->rest);
    if (snprintf(walk->rest, sizeof walk->rest, "%s%s%s", target, last ? "" : "/", rest) >=
        (int)sizeof walk->rest)
        return -ENAMETOOLONG;
    return *target == '/' ? enter(walk, "/", 0) : 0;
}

/* Takes the next part off the way. *last: there is no other behind it. */
static int take_part(struct place_walk *walk, char name[NAME_MAX + 1], bool *last)
{
    char *begin = walk->rest + strspn(walk->rest, "/");
    const size_t length = strcspn(begin, "/");
    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, begin, length);
    name[length] = '\0';
    *last = !begin[length];
    memmove(walk->rest, begin + length, strlen(begin + length) + 1);
    return 0;
}

/* One part. 1: it was the last, and the place is found. */
static int step(struct place_walk *walk, struct sprof_place *place)
{
    char name[NAME_MAX + 1];
    bool last;
    struct stat facts;
    const int result = take_part(walk, name, &last);
    if (result)
        return result;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return last ? -EISDIR : enter(walk, *name ? name : ".", 0);
    const bool is_there = !fstatat(walk->fd, name, &facts, AT_SYMLINK_NOFOLLOW);
    if (!is_there && (errno != ENOENT || !last))
        return -errno;
    if (is_there && S_ISLNK(facts.st_mode)) {
        if (last && (place->opened_fd = own_descriptor(walk, name)) >= 0)
            return 1;
        if (!last && is_of_proc(walk->fd)) /* /proc/self, /proc/PID/cwd: not what its text says */
            return enter(walk, name, 0);
        return follow(walk, place, name, last);
    }
    if (!last)
        return enter(walk, name, O_NOFOLLOW);
    snprintf(place->name, sizeof place->name, "%s", name);
    return 1;
}

int sprof_place_find(struct sprof_place *place, const char *path)
{
    struct place_walk walk = {.fd = -1};
    *place = SPROF_PLACE_NONE;
    if (strlen(path) >= sizeof walk.rest)
        return -ENAMETOOLONG;
    snprintf(walk.rest, sizeof walk.rest, "%s", path);
    walk.fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int result = walk.fd < 0 ? -errno : 0;
    while (!result)
        result = step(&walk, place);
    if (result > 0 && place->opened_fd < 0) {
        place->directory_fd = walk.fd;
        return 0;
    }
    if (walk.fd >= 0)
        close(walk.fd);
    return result > 0 ? 0 : result;
}

bool sprof_trusted_way(const char *path)
{
    struct place_walk walk = {.fd =
                                  open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct sprof_place place;
    struct stat root;
    int result = walk.fd < 0 || stat("/", &root) ? -errno : 0;
    if (snprintf(walk.rest, sizeof walk.rest, "%s/.", path) >= (int)sizeof walk.rest)
        result = -ENAMETOOLONG;
    if (!result) {
        walk.root = root.st_uid;
        note_passed(&walk);
    }
    while (!result)
        result = step(&walk, &place);
    if (walk.fd >= 0)
        close(walk.fd);
    return (result == -EISDIR || result == -ENOENT) && !walk.is_others && !walk.is_shared;
}

bool sprof_place_directory(const struct sprof_place *place, char *path, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->directory_fd);
    const ssize_t length = readlink(link, path, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    path[length] = '\0';
    return *path == '/';
}

int sprof_place_make_temporary(const struct sprof_place *place, char name[NAME_MAX + 1])
{
    for (int i = 0; i < TRIES; i++) {
        uint32_t lot;
        if (getrandom(&lot, sizeof lot, 0) != sizeof lot)
            return -errno;
        if (snprintf(name, NAME_MAX + 1, "%s.%08x", place->name, lot) > NAME_MAX)
            return -ENAMETOOLONG;
        const int fd = openat(place->directory_fd, name,
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

void sprof_place_close(struct sprof_place *place)
{
    if (place->directory_fd >= 0)
        close(place->directory_fd);
    *place = SPROF_PLACE_NONE;
}
