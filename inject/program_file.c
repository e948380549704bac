/* Finds the program that a process runs, also by a loader. */
#include "inject/program_file.h"

#include "agent/agent.h"
#include "base/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARGUMENTS_BYTES = 16 << 10,
    ARGUMENTS_MAX = 64,
};

static void read_arguments(pid_t pid, char *text, char **arguments)
{
    char path[64];
    size_t count = 0;
    sprof_proc_shared_path(path, sizeof path, pid, "cmdline");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, text, ARGUMENTS_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    for (ssize_t at = 0; at < got && count < ARGUMENTS_MAX; at += (ssize_t)strlen(text + at) + 1)
        arguments[count++] = text + at;
    arguments[count] = NULL;
}

static bool find_loaded(pid_t pid, char path[PATH_MAX])
{
    char text[ARGUMENTS_BYTES], named[PATH_MAX], directory[64];
    char *arguments[ARGUMENTS_MAX + 1];
    read_arguments(pid, text, arguments);
    const char *program = agent_loaded_program(arguments);
    if (!program)
        return false;
    sprof_proc_shared_path(directory, sizeof directory, pid, *program == '/' ? "root" : "cwd");
    snprintf(named, sizeof named, "%s/%s", directory, program);
    return realpath(named, path);
}

bool inject_program_file(pid_t pid, char path[PATH_MAX])
{
    char link[64];
    sprof_proc_shared_path(link, sizeof link, pid, "exe");
    if (agent_check_file(link) == AGENT_FILE_LOADER && find_loaded(pid, path))
        return true;
    const ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}
