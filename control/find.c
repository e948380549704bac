/* Finds the recordings that are being made of a process, by what recorders have open: a pidfd of
 * the process, and a file beside which there is a control socket. */
#include "control/control.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* Whether a descriptor of a process is a pidfd of another. */
static bool is_pidfd_of(pid_t recorder, const char *fd, pid_t pid)
{
    char path[64], line[128];
    int named = 0;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.12s", (int)recorder, fd);
    FILE *file = fopen(path, "re");
    while (file && !named && fgets(line, sizeof line, file))
        if (sscanf(line, "Pid: %d", &named) != 1)
            named = 0;
    if (file)
        fclose(file);
    return named == pid;
}

/* Where a descriptor leads to, if a control socket stands beside that. */
static bool read_output(pid_t recorder, const char *fd, char output[PATH_BYTES])
{
    char link[64], socket[PATH_BYTES + 8];
    struct stat status;
    snprintf(link, sizeof link, "/proc/%d/fd/%.12s", (int)recorder, fd);
    const ssize_t length = readlink(link, output, PATH_BYTES - 1);
    output[length > 0 ? length : 0] = '\0';
    snprintf(socket, sizeof socket, "%s.ctl", output);
    return *output == '/' && !stat(socket, &status) && S_ISSOCK(status.st_mode);
}

static int look_at(pid_t recorder, pid_t pid, struct control_files *files)
{
    char path[64], found[PATH_BYTES], output[PATH_BYTES] = "";
    bool knows_it = false;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)recorder);
    DIR *directory = opendir(path); /* else it is another user's, or has ended */
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (*entry->d_name == '.')
            continue;
        knows_it = knows_it || is_pidfd_of(recorder, entry->d_name, pid);
        if (!*output && read_output(recorder, entry->d_name, found))
            memcpy(output, found, sizeof output);
    }
    if (directory)
        closedir(directory);
    char *copy = knows_it && *output ? strdup(output) : NULL;
    if (!knows_it || !*output)
        return 0;
    if (copy && !sprof_vec_push(&files->recorders, recorder) && !sprof_vec_push(&files->list, copy))
        return 0;
    free(copy);
    return SPROF_ENOMEM;
}

/* Whether a process of the caller's or root's runs sprof: this program's file, under whatever name
 * it was started, or one of its name. */
static bool is_sprof(pid_t pid, const struct stat *own)
{
    char name[16], path[64];
    struct stat status;
    struct sprof_proc_status facts; /* the owner of /proc/PID is root where it is not dumpable */
    if (!sprof_proc_status_read(pid, &facts) || (facts.user && facts.user != geteuid()))
        return false;
    sprof_proc_comm(pid, pid, name);
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return !strcmp(name, "sprof") ||
           (!stat(path, &status) && status.st_ino == own->st_ino && status.st_dev == own->st_dev);
}

int control_find(pid_t pid, struct control_files *files)
{
    DIR *directory = opendir("/proc");
    struct stat own = {0}; /* no file has number 0 */
    int result = 0;
    *files = (struct control_files){0};
    (void)stat("/proc/self/exe", &own);
    for (const struct dirent *entry; directory && !result && (entry = readdir(directory));) {
        const pid_t recorder = (pid_t)atoi(entry->d_name);
        if (recorder <= 0 || recorder == getpid())
            continue;
        if (is_sprof(recorder, &own))
            result = look_at(recorder, pid, files);
    }
    if (directory)
        closedir(directory);
    return result;
}

void control_files_release(struct control_files *files)
{
    for (size_t i = 0; i < files->list.count; i++)
        free(files->list.items[i]);
    sprof_vec_release(&files->list);
    sprof_vec_release(&files->recorders);
}
