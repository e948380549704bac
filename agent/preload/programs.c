/* Makes started programs load the sampling agent, if they can. */
#include "agent/preload/preload.h"

#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Runs in vfork children, too, so it only changes its stack. */
enum { VARIABLES_MAX = 16384 };

static size_t count_of(char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

static bool is_variable(const char *text, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=';
}

static const char *others_preload(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (is_variable(*environment, "LD_PRELOAD"))
            return *environment + sizeof "LD_PRELOAD";
    return NULL;
}

static bool is_wanted(char *const *environment)
{
    if (!*agent_process.library || !agent_process.owner)
        return false;
    if (!(atomic_load_explicit(agent_process.owner, memory_order_relaxed) & AGENT_OWNER_MASK))
        return false;
    for (; environment && *environment; environment++)
        if (is_variable(*environment, AGENT_SOCKET_VARIABLE))
            return false;
    return true;
}

static void count_left_out(enum agent_left_out why)
{
    if (agent_active())
        atomic_fetch_add_explicit(&agent_process.shared->control.left_out[why], 1,
                                  memory_order_relaxed);
}

/* The loader complains if it cannot read the library (another root). Without access to the socket
 * (another user) there is no answer. */
static bool is_reachable(void)
{
    const int saved = errno;
    const bool reachable = access(agent_process.library + sizeof "LD_PRELOAD", R_OK) == 0 &&
                           access(agent_process.socket_path, W_OK) == 0;
    errno = saved;
    if (!reachable)
        count_left_out(AGENT_LEFT_OUT_PLACE);
    return reachable;
}

static bool is_good(enum agent_file kind)
{
    if (kind != AGENT_FILE_GOOD && kind != AGENT_FILE_MISSING)
        count_left_out(AGENT_LEFT_OUT_KIND);
    return kind == AGENT_FILE_GOOD;
}

static size_t preload_size(char *const *environment)
{
    const char *others = others_preload(environment);
    return strlen(agent_process.library) + 1 + (others ? strlen(others) + 1 : 0);
}

static void fill(char **list, char *preload, char *const *environment)
{
    const char *others = others_preload(environment);
    const size_t length = strlen(agent_process.library);
    memcpy(preload, agent_process.library, length + 1);
    if (others && *others) {
        preload[length] = ':';
        memcpy(preload + length + 1, others, strlen(others) + 1);
    }
    for (; environment && *environment; environment++)
        if (!is_variable(*environment, "LD_PRELOAD"))
            *list++ = *environment;
    *list++ = preload;
    *list++ = agent_process.socket_variable;
    *list = NULL;
}

/* The list is on the caller's stack. */
#define WITH_AGENT(file, environment)                                                              \
    ({                                                                                             \
        char *const *given = (environment);                                                        \
        char *const *list = given;                                                                 \
        const size_t count = count_of(given);                                                      \
        if (count < VARIABLES_MAX && is_wanted(given) && is_good(file) && is_reachable()) {        \
            char **more = alloca((count + 3) * sizeof *more);                                      \
            fill(more, alloca(preload_size(given)), given);                                        \
            list = more;                                                                           \
        }                                                                                          \
        list;                                                                                      \
    })

static enum agent_file check_command(const char *name, char *const *arguments)
{
    for (char **at = environ; at && *at; at++)
        if (is_variable(*at, "PATH"))
            return agent_check_command(name, arguments, *at + sizeof "PATH", NULL);
    return agent_check_command(name, arguments, NULL, NULL);
}

static enum agent_file check_descriptor(int fd, char *const *arguments)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return agent_check_program(path, arguments);
}

/* == exec == */

static int call_execve(const char *path, char *const *arguments, char *const *environment)
{
    return agent_next()->execve(path, arguments,
                                WITH_AGENT(agent_check_program(path, arguments), environment));
}

static int call_execvpe(const char *name, char *const *arguments, char *const *environment)
{
    return agent_next()->execvpe(name, arguments,
                                 WITH_AGENT(check_command(name, arguments), environment));
}

AGENT_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return call_execve(path, arguments, environment);
}

AGENT_EXPORT int execv(const char *path, char *const arguments[])
{
    return call_execve(path, arguments, environ);
}

AGENT_EXPORT int execvpe(const char *name, char *const arguments[], char *const environment[])
{
    return call_execvpe(name, arguments, environment);
}

AGENT_EXPORT int execvp(const char *name, char *const arguments[])
{
    return call_execvpe(name, arguments, environ);
}

AGENT_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    return agent_next()->fexecve(fd, arguments,
                                 WITH_AGENT(check_descriptor(fd, arguments), environment));
}

#define LIST_OF(first, more)                                                                       \
    ({                                                                                             \
        va_list counting;                                                                          \
        va_copy(counting, more);                                                                   \
        size_t count = 1;                                                                          \
        for (const char *each = first; each; each = va_arg(counting, char *))                      \
            count++;                                                                               \
        va_end(counting);                                                                          \
        char **list = alloca(count * sizeof *list);                                                \
        list[0] = (char *)(uintptr_t)(first);                                                      \
        for (size_t i = 1; i < count; i++)                                                         \
            list[i] = va_arg(more, char *);                                                        \
        list;                                                                                      \
    })

AGENT_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list more;
    va_start(more, first);
    char **arguments = LIST_OF(first, more);
    va_end(more);
    return call_execve(path, arguments, environ);
}

AGENT_EXPORT int execlp(const char *name, const char *first, ...)
{
    va_list more;
    va_start(more, first);
    char **arguments = LIST_OF(first, more);
    va_end(more);
    return call_execvpe(name, arguments, environ);
}

AGENT_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list more;
    va_start(more, first);
    char **arguments = LIST_OF(first, more);
    char *const *environment = va_arg(more, char *const *);
    va_end(more);
    return call_execve(path, arguments, environment);
}

/* == posix_spawn == */

AGENT_EXPORT int posix_spawn(pid_t *pid, const char *path,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const arguments[],
                             char *const environment[])
{
    return agent_next()->posix_spawn(pid, path, actions, attributes, arguments,
                                     WITH_AGENT(agent_check_program(path, arguments), environment));
}

AGENT_EXPORT int posix_spawnp(pid_t *pid, const char *name,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const arguments[],
                              char *const environment[])
{
    return agent_next()->posix_spawnp(pid, name, actions, attributes, arguments,
                                      WITH_AGENT(check_command(name, arguments), environment));
}

/* == The shell == */

/* libc uses `environ`, exchanged meanwhile. Another thread's exchange stays. */
#define WITH_SHELL(call)                                                                           \
    ({                                                                                             \
        char **before = environ;                                                                   \
        char **during = (char **)(uintptr_t)WITH_AGENT(agent_check_file("/bin/sh"), before);       \
        environ = during;                                                                          \
        __typeof__(call) result = (call);                                                          \
        if (environ == during)                                                                     \
            environ = before;                                                                      \
        result;                                                                                    \
    })

AGENT_EXPORT int system(const char *command)
{
    return WITH_SHELL(agent_next()->system(command));
}

AGENT_EXPORT FILE *popen(const char *command, const char *type)
{
    return WITH_SHELL(agent_next()->popen(command, type));
}
