/* Exchanges what a name in its directory leads to, as fast as it can, until it is killed.
 *
 * swapper fifo NAME FILE: a FIFO, and a symbolic link to FILE
 *
 * swapper file NAME FILE: any file that is made there, and a symbolic link to FILE
 *
 * swapper log NAME FILE: the same of NAME-wal and NAME-shm, by hard and by symbolic links
 *
 * swapper turns NAME FILE: the file NAME, a FIFO, a symbolic link to FILE and a directory, in
 * turns; NAME.opened is there once the FIFO was opened
 *
 * swapper way NAME OTHER: a directory NAME, and a symbolic link to the directory OTHER */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static void exchange(const char *one, const char *other)
{
    for (;;)
        if (syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE))
            continue;
}

/* In the place of what was made there a moment ago. */
static void replace(const char *name, const char *file)
{
    struct stat facts;
    for (;;) {
        if (!lstat(name, &facts) && S_ISREG(facts.st_mode)) {
            unlink(name);
            if (symlink(file, name))
                continue;
        }
        if (!lstat(name, &facts) && S_ISLNK(facts.st_mode)) {
            usleep(2000);
            unlink(name);
        }
    }
}

static void replace_logs(const char *name, const char *file)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    char path[4096];
    for (unsigned round = 0;; round++)
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof path, "%s%s", name, suffixes[i]);
            unlink(path);
            if (round % 2 ? link(file, path) : symlink(file, path))
                continue;
        }
}

static int take_turns(const char *name, const char *file)
{
    enum { OTHERS = 3 };
    char paths[OTHERS][4096], opened[4096], event[4096];
    for (int i = 0; i < OTHERS; i++)
        snprintf(paths[i], sizeof paths[i], "%s.%d", name, i);
    snprintf(opened, sizeof opened, "%s.opened", name);
    const int watch = inotify_init1(IN_NONBLOCK);
    if (mkfifo(paths[0], 0666) || symlink(file, paths[1]) || mkdir(paths[2], 0755) ||
        inotify_add_watch(watch, paths[0], IN_OPEN) < 0)
        return 2;
    for (unsigned round = 0;; round++) {
        /* It itself opens nothing. */
        if (read(watch, event, sizeof event) > 0 && mkdir(opened, 0755) && errno != EEXIST)
            return 2;
        if (syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, paths[round % OTHERS],
                    RENAME_EXCHANGE))
            return 2;
        usleep(round % 7 * 50);
    }
}

int main(int argc, char **argv)
{
    char other[4096];
    if (argc < 4)
        return 2;
    const char *kind = argv[1], *name = argv[2], *file = argv[3];
    snprintf(other, sizeof other, "%s.other", name);
    if (!strcmp(kind, "fifo")) {
        if (mkfifo(name, 0666) || chmod(name, 0666) || symlink(file, other))
            return 2;
        exchange(name, other);
    } else if (!strcmp(kind, "way")) {
        if (mkdir(name, 0777) || symlink(file, other))
            return 2;
        exchange(name, other);
    } else if (!strcmp(kind, "turns"))
        return take_turns(name, file);
    else if (!strcmp(kind, "log"))
        replace_logs(name, file);
    else
        replace(name, file);
    return 2;
}
