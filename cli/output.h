/* Where the commands that write a file of their own put it: what stood there before stays until the
 * new one is complete. */
#ifndef SPROF_CLI_OUTPUT_H
#define SPROF_CLI_OUTPUT_H

#include "base/base.h"

#include <stdio.h>

/* Zero is valid and closed. */
struct cli_output {
    FILE *file;       /* to write to */
    const char *path; /* borrowed; NULL: standard output */
    struct sprof_place place;
    char temporary[NAME_MAX + 1]; /* beside it; "": none */
};

/* Whether `path` may be written where `input` (NULL: none) is read; errors as cli_output_open. For
 * commands that read several files. */
int cli_output_check(const char *path, const char *input, struct sprof_error *error);

/* Opens `path`; "-" is standard output, /dev/stdout and /dev/fd/N are the caller's descriptors.
 * Links are followed as sprof_place_find says, and never by the opening itself. A new file has the
 * mode 0600. `input` (NULL: none) must be another file. SPROF_EUSAGE where it is the same, a
 * directory, or behind a symbolic link that another user could have made; SPROF_EPERMISSION,
 * SPROF_ENOTFOUND, SPROF_EFULL, SPROF_EIO as the system says. */
int cli_output_open(struct cli_output *output, const char *path, const char *input,
                    struct sprof_error *error);

/* Closes it. With `result` 0 the file takes its place, else what was written is removed and an
 * older file stays. Returns `result`, or a negative code where closing failed. Safe on a closed
 * output. */
int cli_output_close(struct cli_output *output, int result, struct sprof_error *error);

/* Makes a directory of mode 0700, unless there is one, in the directory that base/place.h finds: a
 * link of another user does not lead elsewhere. Returns 0 or a negative code with its error:
 * SPROF_EUSAGE where something else is there. */
int cli_make_directory(const char *path, struct sprof_error *error);

#endif
