/* Exchanges what a name in its directory leads to, as fast as it can, until it is killed.
 *     swapper fifo NAME FILE    a FIFO, and a symbolic link to FILE
 *     swapper file NAME FILE    whatever file is made there, and a symbolic link to FILE in its place
 *     swapper log NAME FILE     the same of NAME-wal and NAME-shm, as hard and as symbolic links
 *     swapper way NAME OTHER    a directory NAME, and a symbolic link to the directory OTHER */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
    } else if (!strcmp(kind, "log"))
        replace_logs(name, file);
    else
        replace(name, file);
    return 2;
}
