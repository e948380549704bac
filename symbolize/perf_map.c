/* Perf maps (tools/perf/Documentation/jit-interface.txt in the kernel): `START SIZE name` lines.
 * The program writes while it runs, so the last line may be cut. */
#include "symbolize/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024 };

static const uint64_t max_file_bytes = UINT64_C(256) << 20;

/* A hexadecimal number and the blank behind it; "0x" before it is written by some runtimes. */
static const char *parse_number(const char *text, const char *end, uint64_t *number)
{
    uint64_t value = 0;
    int digits = 0;
    if (end - text > 2 && text[0] == '0' && (text[1] | 32) == 'x')
        text += 2;
    for (; text < end && digits <= 16; text++, digits++) {
        const unsigned digit = (unsigned)*text - '0', letter = ((unsigned)*text | 32) - 'a';
        if (digit > 9 && letter > 5)
            break;
        value = value << 4 | (digit <= 9 ? digit : letter + 10);
    }
    if (!digits || digits > 16 || text >= end || *text != ' ')
        return NULL;
    while (text < end && *text == ' ')
        text++;
    *number = value;
    return text;
}

static int parse_line(struct symbolize_jit *jit, const char *line, const char *end)
{
    struct jit_entry entry = {0};
    if (end > line && end[-1] == '\r')
        end--;
    if (line == end)
        return 0;
    const char *next = parse_number(line, end, &entry.start);
    next = next ? parse_number(next, end, &entry.size) : NULL;
    if (!next || next >= end || !entry.size || entry.start + entry.size < entry.start) {
        jit->bad_lines++;
        return 0;
    }
    return jit_add(jit, entry, next, (size_t)(end - next));
}

/* Lines come in pieces; one longer than the buffer is skipped up to its end. */
struct lines {
    char *buffer;
    size_t held;
    bool skipping;
};

static int parse_lines(struct symbolize_jit *jit, struct lines *lines)
{
    char *line = lines->buffer, *end;
    const char *limit = lines->buffer + lines->held;
    while ((end = memchr(line, '\n', (size_t)(limit - line)))) {
        if (!lines->skipping && parse_line(jit, line, end))
            return SPROF_ENOMEM;
        lines->skipping = false;
        line = end + 1;
    }
    lines->held = (size_t)(limit - line);
    memmove(lines->buffer, line, lines->held);
    if (lines->held == READ_BYTES) {
        jit->bad_lines += !lines->skipping;
        lines->skipping = true;
        lines->held = 0;
    }
    return 0;
}

int jit_read_perf_map(struct symbolize_jit *jit, int fd, const char *path,
                      struct sprof_error *error)
{
    struct lines lines = {.buffer = malloc(READ_BYTES)};
    int code = lines.buffer ? 0 : sprof_error_memory(error);
    for (uint64_t total = 0; !code && total < max_file_bytes;) {
        const ssize_t got =
            pread(fd, lines.buffer + lines.held, READ_BYTES - lines.held, (off_t)total);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            code = sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", path,
                                   strerror(errno));
        if (got <= 0)
            break;
        total += (uint64_t)got;
        lines.held += (size_t)got;
        if (parse_lines(jit, &lines))
            code = sprof_error_memory(error);
    }
    if (!code && !lines.skipping && parse_line(jit, lines.buffer, lines.buffer + lines.held))
        code = sprof_error_memory(error);
    free(lines.buffer);
    return code;
}
