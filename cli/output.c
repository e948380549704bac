/* Writes a file beside its place and moves it there when it is complete. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *path, struct sprof_error *error)
{
    const int cause = errno;
    const int code = cause == EACCES || cause == EPERM || cause == EROFS ? SPROF_EPERMISSION
                     : cause == ENOENT || cause == ENOTDIR               ? SPROF_ENOTFOUND
                     : cause == ENOSPC || cause == EDQUOT                ? SPROF_EFULL
                                                                         : SPROF_EIO;
    return sprof_error_set(error, code, cause, "cannot write %s: %s; name another file with -o",
                           path, strerror(cause));
}

static int refuse_directory(const char *path, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0, "%s is a directory: name a file with -o", path);
}

static int find_place(struct sprof_place *place, const char *path, struct sprof_error *error)
{
    const int result = sprof_place_find(place, path);
    if (!result)
        return 0;
    if (result == -EISDIR)
        return refuse_directory(path, error);
    errno = -result;
    return result == -ELOOP ? sprof_place_refuse_link(place, path, SPROF_EUSAGE, error)
                            : failed(path, error);
}

/* What is there now: 0 with its facts, 1: nothing, or a code. */
static int look_at(const struct sprof_place *place, const char *path, struct stat *facts,
                   struct sprof_error *error)
{
    if (place->opened_fd >= 0
            ? !fstat(place->opened_fd, facts)
            : !fstatat(place->directory_fd, place->name, facts, AT_SYMLINK_NOFOLLOW))
        return 0;
    return errno == ENOENT ? 1 : failed(path, error);
}

/* 0: nothing, or a file that may be replaced; 1: what is no regular file, to be written as it is.
 */
static int check_place(const struct sprof_place *place, const char *path, const char *input,
                       struct sprof_error *error)
{
    struct stat facts, other;
    const int result = look_at(place, path, &facts, error);
    if (result)
        return result > 0 ? 0 : result;
    if (S_ISDIR(facts.st_mode))
        return refuse_directory(path, error);
    if (input && !stat(input, &other) && other.st_dev == facts.st_dev &&
        other.st_ino == facts.st_ino)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is the recording itself: name another file with -o", path);
    return !S_ISREG(facts.st_mode);
}

int cli_output_check(const char *path, const char *input, struct sprof_error *error)
{
    struct sprof_place place;
    const int found = find_place(&place, path, error);
    if (found)
        return found == SPROF_ENOTFOUND ? 0 : found; /* the opening says so */
    const int result = check_place(&place, path, input, error);
    sprof_place_close(&place);
    return result > 0 ? 0 : result;
}

/* A pipe, /dev/null: nothing to keep. A file that has come there meanwhile is left as it is. */
static int open_special(const struct sprof_place *place, const char *path,
                        struct sprof_error *error)
{
    struct stat facts;
    const int fd =
        openat(place->directory_fd, place->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return failed(path, error);
    if (!fstat(fd, &facts) && !S_ISREG(facts.st_mode))
        return fd;
    close(fd);
    return sprof_error_set(error, SPROF_EPERMISSION, 0,
                           "%s has just become another file: name one in a directory of your own "
                           "with -o",
                           path);
}

static int open_temporary(struct cli_output *output, const char *path, struct sprof_error *error)
{
    const int fd = sprof_place_make_temporary(&output->place, output->temporary);
    if (fd >= 0)
        return fd;
    *output->temporary = '\0';
    errno = -fd;
    return failed(path, error);
}

int cli_output_open(struct cli_output *output, const char *path, const char *input,
                    struct sprof_error *error)
{
    *output = (struct cli_output){.place = SPROF_PLACE_NONE};
    if (!strcmp(path, "-")) {
        output->file = stdout;
        return 0;
    }
    int result = find_place(&output->place, path, error);
    if (result)
        return result;
    if (output->place.opened_fd == STDOUT_FILENO) {
        output->file = stdout;
        return 0;
    }
    output->path = path;
    int fd = check_place(&output->place, path, input, error);
    if (fd >= 0 && output->place.opened_fd >= 0) {
        fd = fcntl(output->place.opened_fd, F_DUPFD_CLOEXEC, 3);
        fd = fd < 0 ? failed(path, error) : fd;
    } else if (fd >= 0)
        fd = fd ? open_special(&output->place, path, error) : open_temporary(output, path, error);
    result = fd < 0 ? fd : 0;
    if (!result && !(output->file = fdopen(fd, "w"))) {
        result = failed(path, error);
        close(fd);
    }
    return result ? cli_output_close(output, result, NULL) : 0;
}

int cli_output_close(struct cli_output *output, int result, struct sprof_error *error)
{
    const int directory_fd = output->place.directory_fd;
    if (output->path && output->file) {
        const bool bad = ferror(output->file);
        if ((fclose(output->file) || bad) && !result)
            result = failed(output->path, error);
    }
    if (*output->temporary && !result &&
        renameat(directory_fd, output->temporary, directory_fd, output->place.name))
        result = failed(output->path, error);
    if (*output->temporary && result)
        unlinkat(directory_fd, output->temporary, 0);
    if (output->file || output->path)
        sprof_place_close(&output->place);
    *output = (struct cli_output){.place = SPROF_PLACE_NONE};
    return result;
}

int cli_make_directory(const char *path, struct sprof_error *error)
{
    char name[PATH_MAX];
    struct sprof_place place;
    struct stat facts;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), path);
    const int found = sprof_place_find(&place, name);
    if (found == -ELOOP)
        return sprof_place_refuse_link(&place, path, SPROF_EPERMISSION, error);
    const int made =
        !found && place.opened_fd < 0 ? mkdirat(place.directory_fd, place.name, 0700) : -1;
    const int errnum = found && found != -EISDIR       ? -found
                       : found || place.opened_fd >= 0 ? EEXIST
                                                       : errno;
    sprof_place_close(&place);
    if (!made || (errnum == EEXIST && !stat(path, &facts) && S_ISDIR(facts.st_mode)))
        return 0;
    return sprof_error_set(error,
                           errnum == EEXIST                      ? SPROF_EUSAGE
                           : errnum == EACCES || errnum == EPERM ? SPROF_EPERMISSION
                                                                 : SPROF_ENOTFOUND,
                           errnum, "cannot make the directory %s: %s; name another one", path,
                           strerror(errnum));
}
