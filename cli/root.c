/* Unpacks archives for one command, and removes what it unpacked. */
#include "cli/root.h"

#include "base/command.h"

#include "archive/archive.h"
#include "base/compat.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat facts;
    return !stat(path, &facts) && S_ISDIR(facts.st_mode);
}

/* What `tar` unpacked has the files one directory further down. */
static int use_directory(struct cli_root *root, const char *path, struct sprof_error *error)
{
    struct sprof_str files = {0};
    sprof_str_appendf(&files, "%s/files", path);
    if (!files.failed && !is_directory(files.text)) {
        sprof_str_clear(&files);
        sprof_str_append(&files, path);
    }
    root->path = realpath(files.text, NULL);
    sprof_str_release(&files);
    return root->path ? 0
                      : sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot read %s: %s", path,
                                        strerror(errno));
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *ftw)
{
    (void)facts, (void)type, (void)ftw;
    return remove(path);
}

/* Holds nothing of sprof's but the pipe, and goes when the pipe's other end is closed. */
static void remove_afterwards(const char *directory, int life)
{
    static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
    char byte;
    dup2(life, STDERR_FILENO + 1); /* first: sprof may have been started without standard files */
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        signal(passed_on[i], SIG_IGN);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    while (read(STDERR_FILENO + 1, &byte, 1) < 0 && errno == EINTR)
        ;
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the temporary directory and the process that removes it. Signals wait meanwhile: they must
 * not come between the two. */
static int make_temporary(struct cli_root *root, struct sprof_error *error)
{
    int life[2] = {-1, -1};
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const bool made = !pipe2(life, O_CLOEXEC) && mkdtemp(root->temporary);
    root->remover = made ? fork() : -1;
    const int number = errno;
    if (root->remover == 0) {
        close(life[1]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        remove_afterwards(root->temporary, life[0]);
        _exit(0);
    }
    if (made && root->remover < 0)
        rmdir(root->temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (life[0] >= 0)
        close(life[0]);
    root->life = life[1];
    if (root->remover > 0)
        return 0;
    return sprof_error_set(error, SPROF_EIO, number, "cannot make %s: %s", root->temporary,
                           strerror(number));
}

int cli_root_open(struct cli_root *root, const char *archive, struct sprof_error *error)
{
    *root = (struct cli_root){.life = -1};
    if (!archive)
        return 0;
    if (is_directory(archive))
        return use_directory(root, archive, error);
    const char *place = getenv("TMPDIR");
    struct sprof_str name = {0};
    sprof_str_appendf(&name, "%s/sprof-archive-XXXXXX", place && *place ? place : "/tmp");
    root->temporary = sprof_str_take(&name);
    if (!root->temporary)
        return sprof_error_memory(error);
    int result = make_temporary(root, error);
    if (!result)
        result = archive_unpack(archive, root->temporary, error);
    if (!result)
        result = use_directory(root, root->temporary, error);
    if (result)
        cli_root_close(root);
    return result;
}

void cli_root_close(struct cli_root *root)
{
    if (root->life >= 0)
        close(root->life);
    if (root->remover > 0)
        sprof_command_wait(root->remover);
    free(root->temporary);
    free(root->path);
    *root = (struct cli_root){.life = -1};
}
