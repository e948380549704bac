/* Writes a file beside its place and moves it there when it is complete. */
#include "cli/output.h"

#include <errno.h>
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

int cli_output_check(const char *path, const char *input, struct sprof_error *error)
{
    struct stat place, other;
    if (lstat(path, &place))
        return 0;
    if (S_ISLNK(place.st_mode))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is a symbolic link: name the file it should lead to with -o",
                               path);
    if (S_ISDIR(place.st_mode))
        return sprof_error_set(error, SPROF_EUSAGE, 0, "%s is a directory: name a file with -o",
                               path);
    if (input && !stat(input, &other) && other.st_dev == place.st_dev &&
        other.st_ino == place.st_ino)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s is the recording itself: name another file with -o", path);
    return 0;
}

int cli_output_open(struct cli_output *output, const char *path, const char *input,
                    struct sprof_error *error)
{
    *output = (struct cli_output){0};
    if (!strcmp(path, "-")) {
        output->file = stdout;
        return 0;
    }
    const int result = cli_output_check(path, input, error);
    if (result)
        return result;
    struct stat place;
    output->path = path;
    if (!stat(path, &place) && !S_ISREG(place.st_mode)) { /* a pipe or /dev/null: nothing to keep */
        output->file = fopen(path, "we");
        return output->file ? 0 : failed(path, error);
    }
    struct sprof_str name = {0};
    if (sprof_str_appendf(&name, "%s.XXXXXX", path))
        return sprof_error_memory(error);
    output->temporary = sprof_str_take(&name);
    const int fd = mkstemp(output->temporary);
    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (output->file)
        return 0;
    const int result_of_open = failed(path, error);
    if (fd >= 0) {
        close(fd);
        unlink(output->temporary);
    }
    free(output->temporary);
    *output = (struct cli_output){0};
    return result_of_open;
}

/* As files made by fopen are: what the user's mask leaves of rw-rw-rw-. */
static void give_usual_mode(FILE *file)
{
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fileno(file), 0666 & ~mask);
}

int cli_output_close(struct cli_output *output, int result, struct sprof_error *error)
{
    if (output->path && output->file) {
        if (output->temporary)
            give_usual_mode(output->file);
        const bool bad = ferror(output->file);
        if ((fclose(output->file) || bad) && !result)
            result = failed(output->path, error);
        if (output->temporary && !result && rename(output->temporary, output->path))
            result = failed(output->path, error);
        if (output->temporary && result)
            unlink(output->temporary);
    }
    free(output->temporary);
    *output = (struct cli_output){0};
    return result;
}
