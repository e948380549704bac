/* Where `sprof top` records to, and texts that are held back while its screen is there. */
#ifndef SPROF_CLI_TOP_FILES_H
#define SPROF_CLI_TOP_FILES_H

#include "base/base.h"

#include <stdio.h>

struct cli_top_files {
    char *directory; /* a temporary one; NULL: the recording is kept */
    char *recording;
    int lock_fd; /* of the directory, which is locked while it is in use; -1: none */
};

/* `output` NULL: a recording in a new directory in $TMPDIR or /tmp, where what a `sprof top` has
 * left that was killed is removed. To be closed in any case. */
int cli_top_files_open(struct cli_top_files *files, const char *output, struct sprof_error *error);

/* Writes a temporary recording that has ended to `path`, with names; a recording there becomes
 * PATH.old.1. Where it fails, the temporary one is kept, and the message names it. */
int cli_top_files_save(struct cli_top_files *files, const char *path, const struct sprof_log *log,
                       struct sprof_error *error);

/* Removes what is temporary. */
void cli_top_files_close(struct cli_top_files *files);

/* The end of what came out of a pipe. */
struct cli_top_text {
    struct sprof_str text;
    uint64_t cut; /* bytes at its beginning that are not kept */
    bool ended;
    char last[200]; /* its last whole line */
};

/* Takes what a pipe that does not block holds now. Returns the last whole line of it, valid until
 * the next call; NULL: no line came. */
const char *cli_top_text_read(struct cli_top_text *text, int fd);

/* Writes it as it came, and before it how much is missing. */
void cli_top_text_write(FILE *out, const struct cli_top_text *text);
void cli_top_text_release(struct cli_top_text *text);

#endif
