/* Has SQLite open its files by the descriptor of their directory, and checks what it opened. */
#include "store/guard.h"
#include "base/place_write.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct store_guard *guards; /* of databases that are open */

/* == What SQLite calls == */

/* The guard of a file, and its name in the directory; NULL: a temporary file of SQLite's own. */
static struct store_guard *find_guard(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *name = slash + 1;
    const size_t length = slash == path ? 1 : (size_t)(slash - path);
    for (struct store_guard *guard = guards; guard; guard = guard->next)
        if (strlen(guard->directory) == length && !memcmp(guard->directory, path, length) &&
            !strncmp(*name, guard->place.name, strlen(guard->place.name)))
            return guard;
    return NULL;
}

static bool is_expected(struct store_guard *guard, const char *name, int fd)
{
    struct stat facts;
    const bool is_database = !strcmp(name, guard->place.name);
    if (fstat(fd, &facts) || !S_ISREG(facts.st_mode))
        return false;
    if (is_database && guard->made.st_ino &&
        (facts.st_dev != guard->made.st_dev || facts.st_ino != guard->made.st_ino))
        return false;
    if (is_database)
        guard->owner = facts.st_uid;
    const bool is_ours = is_database || facts.st_uid == geteuid() || facts.st_uid == guard->owner;
    return guard->is_trusted || (is_ours && facts.st_nlink == 1);
}

static int open_guarded(const char *path, int flags, int mode)
{
    const char *name;
    pthread_mutex_lock(&lock);
    struct store_guard *guard = find_guard(path, &name);
    if (!guard) {
        pthread_mutex_unlock(&lock);
        return open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    }
    int fd = openat(guard->place.directory_fd, name,
                    flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode);
    int errnum = errno;
    if (fd >= 0 && !is_expected(guard, name, fd)) {
        close(fd);
        fd = -1;
        errnum = EPERM;
    }
    guard->has_refused |= fd < 0 && (errnum == EPERM || errnum == ELOOP);
    pthread_mutex_unlock(&lock);
    errno = errnum;
    return fd;
}

static int unlink_guarded(const char *path)
{
    const char *name;
    pthread_mutex_lock(&lock);
    struct store_guard *guard = find_guard(path, &name);
    const int result = guard ? unlinkat(guard->place.directory_fd, name, 0) : unlink(path);
    pthread_mutex_unlock(&lock);
    return result;
}

void store_guard_install(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (!vfs || vfs->iVersion < 3)
        return;
    vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_guarded);
    vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)unlink_guarded);
}

/* == Guards == */

static bool is_trusted(int directory_fd)
{
    struct stat facts;
    return !fstat(directory_fd, &facts) && (!facts.st_uid || facts.st_uid == geteuid()) &&
           !(facts.st_mode & (S_IWGRP | S_IWOTH));
}

static int refuse(const char *path, int errnum, struct sprof_error *error)
{
    return sprof_error_set(error,
                           errnum == EACCES || errnum == EPERM ? SPROF_EPERMISSION : SPROF_EIO,
                           errnum, "cannot open %s: %s", path, strerror(errnum));
}

int store_guard_begin(struct store_guard *guard, const char *path, bool writable,
                      struct sprof_error *error)
{
    *guard = (struct store_guard){.place = SPROF_PLACE_NONE, .owner = (uid_t)-1};
    char *real = writable ? NULL : realpath(path, NULL);
    const int found = sprof_place_find(&guard->place, real ? real : path);
    free(real);
    if (found == -ELOOP)
        return sprof_place_refuse_link(&guard->place, path, SPROF_EPERMISSION, error);
    if (found)
        return refuse(path, -found, error);
    if (guard->place.opened_fd >= 0 ||
        !sprof_place_directory(&guard->place, guard->directory, sizeof guard->directory)) {
        sprof_place_close(&guard->place);
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is not a file that can hold a recording; name another one",
                               path);
    }
    guard->is_trusted = is_trusted(guard->place.directory_fd);
    pthread_mutex_lock(&lock);
    guard->next = guards;
    guards = guard;
    pthread_mutex_unlock(&lock);
    return 0;
}

void store_guard_end(struct store_guard *guard)
{
    pthread_mutex_lock(&lock);
    for (struct store_guard **at = &guards; *at; at = &(*at)->next)
        if (*at == guard) {
            *at = guard->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (guard->place.directory_fd > 0)
        sprof_place_close(&guard->place);
}
