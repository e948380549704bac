/* Starts the tracing agent: restores the environment, connects to the tracer, waits for all probes.
 * It runs before other constructors, so it only makes system calls. */
#include "agent/probe/inside.h"

#include <errno.h>
#include <stddef.h>

enum {
    LOCAL = 1,                /* AF_UNIX */
    SEQUENCED = 5,            /* SOCK_SEQPACKET */
    CLOSE_ON_EXEC = 02000000, /* SOCK_CLOEXEC */
};

/* Only glibc passes constructors arguments. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* == The environment == */

static char *value_of(char *assignment, const char *name)
{
    while (*name && *assignment == *name) {
        assignment++;
        name++;
    }
    return !*name && *assignment == '=' ? assignment + 1 : NULL;
}

static void remove_at(char **at)
{
    do
        at[0] = at[1];
    while (*at++);
}

/* The agent is first. */
static void take_library(char **at, char *value)
{
    char *rest = value;
    while (*rest && *rest != ':' && *rest != ' ')
        rest++;
    if (!*rest) {
        remove_at(at);
        return;
    }
    for (rest++; (*value++ = *rest++);)
        ;
}

/* Connects to `before` and NAME of "@NAME:SECRET". -1: the peer may not trace; any user can take
 * the name later. */
static int connect_behind(const char *before, uint32_t length, const char *text)
{
    struct {
        uint16_t family;
        char path[108];
    } address = {.family = LOCAL};
    for (uint32_t i = 0; i < length; i++)
        address.path[i] = before[i];
    for (const char *at = text + 1; *at && *at != ':' && length < sizeof address.path; at++)
        address.path[length++] = *at;
    const long fd = inside_call(SYS_socket, LOCAL, SEQUENCED | CLOSE_ON_EXEC, 0, 0, 0, 0);
    long result = fd < 0 ? fd : -EINTR;
    while (result == -EINTR)
        result = inside_call(SYS_connect, fd, (long)&address,
                             (long)(offsetof(__typeof__(address), path) + length), 0, 0, 0);
    if (!result && probe_may_trace((int)fd))
        return (int)fd;
    if (fd >= 0)
        inside_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return -1;
}

static int connect_to(const char *text)
{
    static const char abstract[1] = "", sockets[] = PROBE_SOCKETS;
    const int fd = connect_behind(abstract, sizeof abstract, text);
    return fd >= 0 ? fd : connect_behind(sockets, sizeof sockets - 1, text);
}

enum { TO_LISTEN = -2 };

/* -1: no tracer. Sockets' names stay for executed programs. */
static int take_variables(char **environment)
{
    int fd = -1;
    char **preload = NULL;
    for (char **at = environment; *at; at++) {
        const char *value = value_of(*at, PROBE_VARIABLE);
        if (!value)
            continue;
        if (*value == '@')
            return connect_to(value);
        fd = *value == *PROBE_LISTEN ? TO_LISTEN : 0;
        for (; *value >= '0' && *value <= '9' && fd < 1 << 24; value++)
            fd = 10 * fd + (*value - '0');
        remove_at(at);
        break;
    }
    for (char **at = environment; *at && !preload; at++)
        if (value_of(*at, "LD_PRELOAD"))
            preload = at;
    for (char **at = environment; *at && fd >= 0; at++)
        if (value_of(*at, PROBE_BINDS_NOW)) {
            remove_at(at);
            break;
        }
    if (fd != -1 && preload)
        take_library(preload, value_of(*preload, "LD_PRELOAD"));
    return fd;
}

static void meet(int socket_fd)
{
    struct probe_hello hello;
    if (!probe_say_hello(&hello))
        return;
    probe_find_loader(&hello);
    if (!probe_send(socket_fd, &hello, sizeof hello, -1) || !probe_serve(socket_fd))
        return;
    probe_begin();
    if (!probe_inside.shared->cost.whole) /* else known from another program */
        probe_calibrate();
}

/* Tracers find the section by name. */
static volatile __attribute__((section(PROBE_BEGAN_WITH), used)) uint32_t began_with;

/* Constructors run right below the arguments; a borrowed thread's stack is far below or elsewhere.
 */
static bool is_beginning(char *const *arguments)
{
    enum { NEAR = 8192 };
    return (uintptr_t)arguments - (uintptr_t)__builtin_frame_address(0) < NEAR;
}

static __attribute__((constructor, used)) void start(int count, char **arguments,
                                                     char **environment)
{
    if (gnu_get_libc_version)
        began_with = is_beginning(arguments);
    /* in a running program the environment may have moved */
    if (!gnu_get_libc_version || environment != arguments + count + 1)
        return;
    const int fd = take_variables(environment);
    if (fd == TO_LISTEN) {
        probe_find_ids();
        probe_listen();
    }
    if (fd < 0)
        return;
    meet(fd);
    inside_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
