/* Finds, guards and tidies the cache's directory. */
#include "cache/directory.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_own(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* A directory of the user's own, made where it is missing (another recorder may be faster); -1
 * otherwise. */
static int open_own(int parent, const char *name)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW };
    int directory = openat(parent, name, FLAGS);
    if (directory < 0 && errno == ENOENT && (mkdirat(parent, name, 0700) == 0 || errno == EEXIST))
        directory = openat(parent, name, FLAGS);
    if (directory >= 0 && !is_own(directory)) {
        close(directory);
        directory = -1;
    }
    return directory;
}

/* Below a place that must belong to the user: under sudo, HOME may be another user's, where
 * nothing of root's must appear. Links on the way to the place are the user's own business. */
static int open_below(const char *place, const char *const *names)
{
    int directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (directory >= 0 && (fstat(directory, &status) != 0 || status.st_uid != geteuid())) {
        close(directory);
        return -1;
    }
    for (; directory >= 0 && *names; names++) {
        const int parent = directory;
        directory = open_own(parent, *names);
        close(parent);
    }
    return directory;
}

/* As the specification of base directories demands; another user's links lead nowhere. */
static void make(const char *path)
{
    struct sprof_place place;
    if (sprof_place_find(&place, path))
        return;
    if (place.directory_fd >= 0)
        mkdirat(place.directory_fd, place.name, 0700);
    sprof_place_close(&place);
}

int cache_directory_open(const char *directory)
{
    static const char *const in_cache[] = {"sprof", NULL}, *const in_home[] = {".cache", "sprof",
                                                                               NULL};
    if (directory)
        return open_own(AT_FDCWD, directory);
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') {
        make(cache);
        return open_below(cache, in_cache);
    }
    return home && home[0] == '/' ? open_below(home, in_home) : -1;
}

void cache_directory_mark_used(int file)
{
    enum { OFTEN_ENOUGH_S = 600 };
    struct stat status;
    if (fstat(file, &status) == 0 && time(NULL) - status.st_mtime > OFTEN_ENOUGH_S)
        futimens(file, NULL);
}

bool cache_directory_is_due(int directory)
{
    enum {
        RARELY_ENOUGH_S = 600,
        FLAGS = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    };
    static const char stamp[] = ".looked";
    struct stat status;
    const time_t now = time(NULL);
    if (fstatat(directory, stamp, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        now - status.st_mtime <= RARELY_ENOUGH_S && status.st_mtime <= now)
        return false;
    const int file = openat(directory, stamp, FLAGS, 0600);
    if (file >= 0) {
        futimens(file, NULL);
        close(file);
    }
    return true;
}

struct found {
    char *name;
    uint64_t bytes;
    time_t used;
};
struct listing {
    struct sprof_arena names;
    SPROF_VEC(struct found) entries;
    uint64_t bytes;
};

static int by_use(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    return (a->used > b->used) - (a->used < b->used);
}

static void list(struct listing *listing, int directory, DIR *stream)
{
    enum { ABANDONED_S = 3600 };
    const time_t now = time(NULL);
    struct stat status;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        if (!strncmp(entry->d_name, CACHE_TEMPORARY, sizeof CACHE_TEMPORARY - 1)) {
            if (now - status.st_mtime > ABANDONED_S)
                unlinkat(directory, entry->d_name, 0);
            continue;
        }
        const struct found found = {
            .name = sprof_arena_text(&listing->names, entry->d_name),
            .bytes = (uint64_t)status.st_blocks * 512,
            .used = status.st_mtime,
        };
        if (!found.name || sprof_vec_push(&listing->entries, found))
            return;
        listing->bytes += found.bytes;
    }
}

void cache_directory_shrink(int directory, uint64_t bytes_max)
{
    const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    struct listing listing = {0};
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return;
    }
    list(&listing, directory, stream);
    closedir(stream);
    if (listing.bytes > bytes_max)
        qsort(listing.entries.items, listing.entries.count, sizeof *listing.entries.items, by_use);
    for (size_t i = 0; i < listing.entries.count && listing.bytes > bytes_max; i++) {
        unlinkat(directory, listing.entries.items[i].name, 0);
        listing.bytes -= listing.entries.items[i].bytes;
    }
    sprof_vec_release(&listing.entries);
    sprof_arena_release(&listing.names);
}
