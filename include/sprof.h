/* sprof.h: lets a program control how it is recorded by `sprof record -- PROGRAM`.
 *
 *     sprof_start();              take samples (after `sprof record --paused`, or sprof_stop)
 *     sprof_stop();               take none; the pause counts for nothing
 *     sprof_mark("second pass");  give what follows a name
 *
 * Each returns 0 when the recorder has done it, and -1 where the program is not being recorded, or
 * was attached to. Then a call costs a look at a variable: nothing need be linked or taken out of a
 * release. Needs what POSIX and Linux declare: any -std=gnu…, which is the default, or _GNU_SOURCE.
 * Safe in threads and after fork; not in signal handlers. errno stays as it was. */
#ifndef SPROF_H
#define SPROF_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sends one request to the recorder's socket in a directory, and waits for its answer. */
static inline int sprof_ask_(const char *directory, const char *name, const char *request)
{
    struct sockaddr_un address;
    char answer[64];
    int done = -1;
    const int directory_fd = open(directory, O_RDONLY | O_CLOEXEC);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory_fd, name);
    if (directory_fd >= 0 && fd >= 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, request, strlen(request), MSG_NOSIGNAL) >= 0 &&
        recv(fd, answer, sizeof answer, 0) > 0 && answer[0] == '0')
        done = 0;
    if (fd >= 0)
        close(fd);
    if (directory_fd >= 0)
        close(directory_fd);
    return done;
}

static inline int sprof_request_(const char *command, const char *argument)
{
    static int absent;
    if (__atomic_load_n(&absent, __ATOMIC_RELAXED))
        return -1;
    const int saved = errno;
    const char *path = getenv("SPROF_CONTROL"); /* DIRECTORY/NAME of the socket */
    const char *slash = path ? strrchr(path, '/') : NULL;
    int done = -1;
    if (slash) {
        char directory[4096], request[1024];
        snprintf(directory, sizeof directory, "%.*s", (int)(slash - path) + 1, path);
        snprintf(request, sizeof request, "%s%s%s", command, argument ? " " : "",
                 argument ? argument : "");
        done = sprof_ask_(directory, slash + 1, request);
    } else {
        __atomic_store_n(&absent, 1, __ATOMIC_RELAXED);
    }
    errno = saved;
    return done;
}

static inline int sprof_start(void)
{
    return sprof_request_("start", NULL);
}

static inline int sprof_stop(void)
{
    return sprof_request_("stop", NULL);
}

static inline int sprof_mark(const char *name)
{
    return sprof_request_("mark", name);
}

#ifdef __cplusplus
}
#endif

#endif
