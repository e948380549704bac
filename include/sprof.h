/* sprof.h: lets a program control how it is recorded by `sprof record -- PROGRAM`, or traced by
 * `sprof trace -- PROGRAM`.
 *
 *     sprof_start();              measure (after `--paused`, or sprof_stop)
 *     sprof_stop();               measure nothing; the pause is in no total
 *     sprof_mark("second pass");  give what follows a name
 *     sprof_mode("pc");           recordings: "full", "app", "pc" or "pc --frame app";
 *                                 traces: "stats", "coverage" or "log"
 *     sprof_rate(199);            recordings: so many samples a second
 *     sprof_probe("+^parse_");    traces: probes on or off, as `sprof ctl probe` takes it
 *     sprof_clear();              forget what was measured so far
 *
 * The following say something of a trace with rules (`sprof trace --keep`), attached or not:
 *
 *     sprof_request(id, "GET /");      this thread works for that request from now on, until it
 *                                      works for another, or none (0); a label or NULL. Threads
 *                                      that give it to each other say the same id.
 *     sprof_request_end();             the request that this thread works for has ended
 *     sprof_note("user", name);        a value of the innermost probed call, if that is kept
 *     sprof_note_number("rows", 7);    … a whole number
 *     sprof_keep_next();               rules with `next` (`--keep 'next : ^parse'`) keep the next
 *                                      call of this program, as after `sprof ctl keep-next`
 *     sprof_call_id();                 an id of the innermost probed call, to be printed or sent;
 *                                      it is kept then, and has it as `asked_id`. 0: it has
 *                                      none (no trace, no room, or no probed call is open)
 *
 * They call sprof_remark(), an empty function of the program, where a trace has a probe: some
 * nanoseconds without one, with it a tenth of a microsecond and half a one more for each text. The
 * program needs its symbols (no `strip`).
 *
 * Each of the former returns 0 when that is done, and -1 where it was refused, or the program is
 * neither recorded nor traced, or was attached to. Without a recorder a call is a look at a
 * variable: nothing need be linked or taken out of a release. Else it waits for the recorder's
 * answer, some tenths of a millisecond. Where a trace runs inside a recording, or the other way
 * round, the inner one is controlled. Needs what POSIX and Linux declare: any -std=gnu…, which is
 * the default, or _GNU_SOURCE. Safe in threads and after fork; not in signal handlers. errno stays
 * as it was. */
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

static inline int sprof_command_(const char *command, const char *argument)
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
    return sprof_command_("start", NULL);
}

static inline int sprof_stop(void)
{
    return sprof_command_("stop", NULL);
}

static inline int sprof_mark(const char *name)
{
    return sprof_command_("mark", name);
}

static inline int sprof_mode(const char *mode)
{
    return sprof_command_("mode", mode);
}

static inline int sprof_rate(unsigned long samples_per_second)
{
    char text[24];
    snprintf(text, sizeof text, "%lu", samples_per_second);
    return sprof_command_("rate", text);
}

static inline int sprof_probe(const char *which)
{
    return sprof_command_("probe", which);
}

static inline int sprof_clear(void)
{
    return sprof_command_("clear", NULL);
}

/* Does nothing. A trace reads its arguments, so that they must all be passed, also where the whole
 * program is compiled at once. Weak, so that a module has one of it. */
__attribute__((weak, noinline, used, visibility("hidden"))) void
sprof_remark(unsigned long long kind, const char *key, unsigned long long value, const char *text,
             unsigned long long *id);
__attribute__((weak, noinline, used, visibility("hidden"))) void
sprof_remark(unsigned long long kind, const char *key, unsigned long long value, const char *text,
             unsigned long long *id)
{
#ifdef __x86_64__ /* room for a jump */
    __asm__ volatile("nopl 0(%%rax,%%rax,1)\n\tnopl 0(%%rax,%%rax,1)"
                     :
                     : "r"(kind), "r"(key), "r"(value), "r"(text), "r"(id)
                     : "memory");
#else
    __asm__ volatile("" : : "r"(kind), "r"(key), "r"(value), "r"(text), "r"(id) : "memory");
#endif
}

static inline void sprof_request(unsigned long long id, const char *label)
{
    sprof_remark(1, NULL, id, label, NULL);
}

static inline void sprof_request_end(void)
{
    sprof_remark(2, NULL, 0, NULL, NULL);
}

static inline void sprof_note(const char *key, const char *text)
{
    sprof_remark(3, key, 0, text, NULL);
}

static inline void sprof_note_number(const char *key, long long number)
{
    sprof_remark(4, key, (unsigned long long)number, NULL, NULL);
}

static inline void sprof_keep_next(void)
{
    sprof_remark(6, NULL, 0, NULL, NULL);
}

static inline unsigned long long sprof_call_id(void)
{
    unsigned long long id = 0;
    sprof_remark(5, NULL, 0, NULL, &id);
    return id;
}

#ifdef __cplusplus
}
#endif

#endif
