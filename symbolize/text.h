/* symbolize, inside: what text files of symbols have in common. */
#ifndef SPROF_SYMBOLIZE_TEXT_H
#define SPROF_SYMBOLIZE_TEXT_H

#include "base/base.h"

/* Longer lines are skipped. */
enum { TEXT_LINE_BYTES = 256 * 1024 };

struct text_lines {
    int fd;
    const char *path;    /* for messages */
    uint64_t most_bytes; /* little more than so many are read */
    /* Gets every line without its newline, if it has one. Returns 0 or SPROF_ENOMEM. */
    int (*line)(void *context, const char *line, const char *end);
    void *context;
    uint64_t line_end; /* where the line at hand ends in the file */
    uint64_t too_long; /* out: how many were skipped */
    bool is_cut;       /* out: the file is longer than most_bytes */
};

/* Reads the file from its start, piece by piece. Returns 0, SPROF_EIO or SPROF_ENOMEM. */
int symbolize_text_lines_read(struct text_lines *lines, struct sprof_error *error);

/* Reads a hexadecimal number of 1 to 16 digits. Returns what follows it, or NULL. */
const char *symbolize_text_hex(const char *text, const char *end, uint64_t *number);

#endif
