/* --archive: the files of another machine, unpacked for one command. */
#ifndef SPROF_CLI_ROOT_H
#define SPROF_CLI_ROOT_H

#include "base/base.h"

#include <sys/types.h>

#define CLI_ARCHIVE_OPTION(field)                                                                  \
    {                                                                                              \
        "archive", 0, "FILE",                                                                      \
            "take binaries, debug files and sources from this archive (or a directory it was "     \
            "unpacked to)",                                                                        \
            field, cli_set_text                                                                    \
    }

struct cli_root {
    char *path;      /* the directory that stands for / */
    char *temporary; /* removed by a process that outlives sprof, however that ends */
    pid_t remover;   /* its process id */
    int life;        /* what it waits for the end of; -1: none */
};

/* `archive` is what --archive was given; NULL: none. Errors as archive_unpack. */
int cli_root_open(struct cli_root *root, const char *archive, struct sprof_error *error);
void cli_root_close(struct cli_root *root);

#endif
