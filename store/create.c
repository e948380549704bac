/* Creates a database for a recording, or opens one to add a run. */
#include "base/place_write.h"
#include "store/database.h"
#include "store/empty.h"
#include "store/header.h"
#include "store/open.h"
#include "store/schema.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* == What is there already == */

int store_refuse_link(const char *path, struct sprof_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) || !S_ISLNK(facts.st_mode))
        return 0;
    return sprof_error_set(error, SPROF_EPERMISSION, 0,
                           "%s is a symbolic link, and sprof does not write through links; remove "
                           "it, or name another file with -o",
                           path);
}

/* An empty file is what a recorder leaves that was killed in its first millisecond, or mktemp(1).
 */
static int remove_empty(const struct sprof_place *place, const char *path,
                        struct sprof_error *error)
{
    if (!unlinkat(place->directory_fd, place->name, 0))
        return 0;
    return sprof_error_set(error, SPROF_EPERMISSION, errno,
                           "cannot replace the empty file %s: %s; name another file with -o", path,
                           strerror(errno));
}

static int clear(const struct sprof_place *place, const char *path, struct store_former *former,
                 struct sprof_error *error)
{
    struct store_file file, now;
    int status = store_file_look(path, &file, error);
    if (status == SPROF_EPERMISSION) /* it is to be replaced, not read */
        status = sprof_error_set(error, status, EACCES,
                                 "cannot replace %s: %s; name another file, or one in a directory "
                                 "of your own, with -o",
                                 path, strerror(EACCES));
    if (!status && file.kind == STORE_FILE_RECORDING) {
        status = store_former_begin(former, place, path, &file, error);
        if (status && !store_file_look(path, &now, NULL))
            file = now; /* it was looked at, which undid a creation that was cut off */
    }
    if (file.kind == STORE_FILE_EMPTY)
        status = remove_empty(place, path, error);
    if (!status) /* of a recording that was removed by name */
        store_remove_logs(place, place->name);
    return status;
}

/* == The new file == */

/* What open(2) may say, and the cure. */
static const struct refusal {
    int errnum;
    enum sprof_code code;
    const char *cure;
} refusals[] = {
    {ENOENT, SPROF_ENOTFOUND, "make its directory first, or name another file with -o"},
    {ENOTDIR, SPROF_ENOTFOUND, "a part of the path is a file; name another one with -o"},
    {EACCES, SPROF_EPERMISSION, "name a file in a directory of your own with -o"},
    {EPERM, SPROF_EPERMISSION, "name a file in a directory of your own with -o"},
    {EROFS, SPROF_EPERMISSION, "name a file on another file system with -o"},
    {ENOSPC, SPROF_EFULL, "free some space, or name a file on another file system with -o"},
    {EDQUOT, SPROF_EFULL, "free some space, or name a file on another file system with -o"},
    {EFBIG, SPROF_EFULL, "raise `ulimit -f`"},
    {EEXIST, SPROF_ESTATE, "another program made it just now; name another file with -o"},
    {ENAMETOOLONG, SPROF_EUSAGE, "name a shorter one with -o"},
};

static int refused(const char *path, int errnum, struct sprof_error *error)
{
    struct refusal refusal = {errnum, SPROF_EIO, "name another file with -o"};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].errnum == errnum)
            refusal = refusals[i];
    return sprof_error_set(error, refusal.code, errnum, "cannot create %s: %s; %s", path,
                           strerror(errnum), refusal.cure);
}

static int find_place(struct sprof_place *place, const char *path, struct sprof_error *error)
{
    const int status = store_refuse_link(path, error);
    const int found = status ? 0 : sprof_place_find(place, path);
    if (status || found == -ELOOP)
        return status ? status : sprof_place_refuse_link(place, path, SPROF_EPERMISSION, error);
    if (found == -EISDIR || place->opened_fd >= 0)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s is not a file that can hold a recording; name another one",
                               path);
    return found ? refused(path, -found, error) : 0;
}

int store_clear_the_way(const char *path, struct sprof_place *place, struct store_former *former,
                        struct sprof_error *error)
{
    *place = SPROF_PLACE_NONE;
    former->slot = 0;
    const int status = find_place(place, path, error);
    return status ? status : clear(place, path, former, error);
}

/* A file that does not exist yet has no name that a half-written one could be found by. Returns 0,
 * or an errno, with EOPNOTSUPP for a file system that has no such files. */
static int copy_empty(const struct sprof_place *place, struct stat *made)
{
    const int descriptor = openat(place->directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return EOPNOTSUPP; /* the plain way finds out what is wrong */
    char unnamed[64];
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", descriptor);
    int errnum = fstat(descriptor, made) ? errno : 0;
    for (size_t written = 0; written < store_empty_size && !errnum;) {
        const ssize_t size = write(descriptor, store_empty + written, store_empty_size - written);
        if (size > 0)
            written += (size_t)size;
        else if (errno != EINTR)
            errnum = errno;
    }
    if (!errnum && linkat(AT_FDCWD, unnamed, place->directory_fd, place->name, AT_SYMLINK_FOLLOW))
        errnum = errno == ENOENT ? EOPNOTSUPP : errno; /* /proc is not there */
    close(descriptor);
    return errnum;
}

/* What the tables are made in afterwards. Returns 0 or an errno. */
static int create_plain(const struct sprof_place *place, struct stat *made)
{
    const int descriptor = openat(place->directory_fd, place->name,
                                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return errno;
    const int errnum = fstat(descriptor, made) ? errno : 0;
    close(descriptor);
    return errnum;
}

static int create_file(const struct sprof_place *place, const char *path, struct stat *made,
                       struct sprof_error *error)
{
    int errnum = copy_empty(place, made);
    if (errnum == EOPNOTSUPP)
        errnum = create_plain(place, made);
    return errnum == ENOMEM ? sprof_error_memory(error) : errnum ? refused(path, errnum, error) : 0;
}

static int fill(struct store **store, const char *path, const struct stat *made,
                struct sprof_error *error)
{
    int status = store_open_file(store, path, true, made, error);
    if (!status)
        status = store_migrate(*store, error);
    if (!status)
        store_start_log(*store);
    return status;
}

int store_replace(struct store **store, const char *path, struct store_former *former,
                  struct sprof_error *error)
{
    struct sprof_place place;
    struct stat made = {0};
    *store = NULL;
    int status = store_clear_the_way(path, &place, former, error);
    if (!status)
        status = create_file(&place, path, &made, error);
    const bool is_made = !status;
    if (is_made)
        status = fill(store, path, &made, error);
    if (status && is_made) {
        store_close(*store, NULL);
        *store = NULL;
        unlinkat(place.directory_fd, place.name, 0);
    }
    if (status)
        store_former_undo(former, &place);
    sprof_place_close(&place);
    return status;
}

int store_create(struct store **store, const char *path, struct sprof_error *error)
{
    struct store_former former = {0};
    const int status = store_replace(store, path, &former, error);
    store_former_settle_at(&former, path);
    return status;
}
