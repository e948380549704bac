/* Reads text files line by line, and the numbers in them. */
#include "symbolize/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a line that is not complete yet. */
struct piece {
    char *bytes;
    size_t held;
    uint64_t read; /* bytes of the file so far */
    bool skipping; /* up to the end of a line that is too long */
};

static int take_lines(struct text_lines *lines, struct piece *piece)
{
    char *line = piece->bytes, *end;
    const char *limit = piece->bytes + piece->held;
    while ((end = memchr(line, '\n', (size_t)(limit - line)))) {
        lines->line_end = piece->read - (uint64_t)(limit - end - 1);
        if (!piece->skipping && lines->line(lines->context, line, end))
            return SPROF_ENOMEM;
        piece->skipping = false;
        line = end + 1;
    }
    piece->held = (size_t)(limit - line);
    memmove(piece->bytes, line, piece->held);
    if (piece->held == TEXT_LINE_BYTES) {
        lines->too_long += !piece->skipping;
        piece->skipping = true;
        piece->held = 0;
    }
    return 0;
}

/* Where the file has data from *at on, and how much of it before a hole, which holds no line: a
 * hole of terabytes costs nothing to make. All is data where the file system cannot tell. */
static size_t find_data(int fd, uint64_t *at, size_t room)
{
    const off_t data = lseek(fd, (off_t)*at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? 0 : room;
    const off_t hole = lseek(fd, data, SEEK_HOLE);
    *at = (uint64_t)data;
    return hole > data && (uint64_t)(hole - data) < room ? (size_t)(hole - data) : room;
}

int symbolize_text_lines_read(struct text_lines *lines, struct sprof_error *error)
{
    struct piece piece = {.bytes = malloc(TEXT_LINE_BYTES)};
    int code = piece.bytes ? 0 : sprof_error_memory(error);
    for (uint64_t total = 0; !code && total < lines->most_bytes;) {
        uint64_t at = total;
        const size_t wanted = find_data(lines->fd, &at, TEXT_LINE_BYTES - piece.held);
        if (at > total) { /* and what stands around the hole is no line */
            lines->too_long += !piece.skipping;
            piece.skipping = true;
            piece.held = 0;
            total = at;
            lines->is_cut = total >= lines->most_bytes;
            continue;
        }
        const ssize_t got =
            wanted ? pread(lines->fd, piece.bytes + piece.held, wanted, (off_t)total) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", lines->path,
                                   strerror(errno));
        if (got <= 0)
            break;
        total += (uint64_t)got;
        lines->is_cut = total >= lines->most_bytes;
        piece.held += (size_t)got;
        piece.read = total;
        if (take_lines(lines, &piece))
            code = sprof_error_memory(error);
    }
    lines->line_end = piece.read;
    if (!code && piece.held && !piece.skipping &&
        lines->line(lines->context, piece.bytes, piece.bytes + piece.held))
        code = sprof_error_memory(error);
    free(piece.bytes);
    return code;
}

const char *symbolize_text_hex(const char *text, const char *end, uint64_t *number)
{
    const char *start = text;
    uint64_t value = 0;
    for (; text < end; text++) {
        const unsigned digit = (unsigned)*text - '0', letter = ((unsigned)*text | 32) - 'a';
        if (digit > 9 && letter > 5)
            break;
        value = value << 4 | (digit <= 9 ? digit : letter + 10);
    }
    *number = value;
    return text > start && text - start <= 16 ? text : NULL;
}
