/* A library to be preloaded: opening the file named by HANG_ON never returns, as on a file system
 * whose server does not answer. Says so by making the file HANG_SIGN. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void hang_on(const char *path)
{
    const char *name = getenv("HANG_ON"), *sign = getenv("HANG_SIGN");
    char target[4096];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0)
        target[length] = '\0';
    if (!name || (strcmp(path, name) != 0 && (length <= 0 || strcmp(target, name) != 0)))
        return;
    if (sign)
        close(creat(sign, 0600));
    for (;;)
        pause();
}

static int open_at(int directory, const char *path, int flags, va_list arguments)
{
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    hang_on(path);
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(AT_FDCWD, path, flags, arguments);
    va_end(arguments);
    return fd;
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(directory, path, flags, arguments);
    va_end(arguments);
    return fd;
}
