/* Reads what is to be imported: plain or gzip'd, a line at a time or as a whole. */
#include "import/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* What a small file may unpack to at most, and one line of it. */
static const uint64_t most_unpacked = UINT64_C(4) << 30;
static const size_t most_in_line = (size_t)256 << 20, most_at_once = (size_t)256 << 20;

int import_input_adopt(struct import_input *input, int descriptor, const char *name,
                       struct sprof_error *error)
{
    *input = (struct import_input){.path = name, .packed = gzdopen(descriptor, "rb")};
    if (!input->packed) {
        close(descriptor);
        return sprof_error_memory(error);
    }
    gzbuffer(input->packed, 1 << 17);
    return 0;
}

int import_input_open(struct import_input *input, const char *path, struct sprof_error *error)
{
    *input = (struct import_input){0};
    const bool standard = strcmp(path, "-") == 0;
    const int descriptor =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot open %s: %s", path,
                               strerror(errno));
    return import_input_adopt(input, descriptor, path, error);
}

int import_input_memory(struct import_input *input, struct sprof_bytes bytes)
{
    *input = (struct import_input){.path = "memory", .at_end = true};
    input->buffer = malloc(bytes.size + 1);
    if (!input->buffer)
        return SPROF_ENOMEM;
    if (bytes.size)
        memcpy(input->buffer, bytes.data, bytes.size);
    input->end = bytes.size;
    input->capacity = bytes.size + 1;
    return 0;
}

void import_input_close(struct import_input *input)
{
    if (input->packed)
        gzclose(input->packed);
    free(input->buffer);
    *input = (struct import_input){0};
}

static int cannot_read(struct import_input *input, struct sprof_error *error)
{
    int code = 0;
    const char *why = gzerror(input->packed, &code);
    if (code == Z_ERRNO || !code)
        return sprof_error_set(error, SPROF_EIO, errno, "cannot read %s: %s", input->path,
                               strerror(errno));
    if (code == Z_MEM_ERROR)
        return sprof_error_memory(error);
    const char *reason = strstr(why, ": "); /* behind zlib's name of the file */
    return sprof_error_set(error, SPROF_EFORMAT, 0,
                           "%s cannot be unpacked, it is damaged or was cut: %s", input->path,
                           reason ? reason + 2 : why);
}

/* Reads on behind what is in the buffer. The buffer always has room for one byte more. */
static int fill(struct import_input *input, struct sprof_error *error)
{
    enum { STEP = 1 << 16 };
    if (input->start) {
        memmove(input->buffer, input->buffer + input->start, input->end - input->start);
        input->end -= input->start;
        input->start = 0;
    }
    if (input->capacity - input->end <= STEP) {
        const size_t capacity = input->capacity ? 2 * input->capacity : 4 * (size_t)STEP;
        uint8_t *buffer = realloc(input->buffer, capacity);
        if (!buffer)
            return sprof_error_memory(error);
        input->buffer = buffer;
        input->capacity = capacity;
    }
    errno = 0;
    const int got = gzread(input->packed, input->buffer + input->end, STEP);
    if (got < 0)
        return cannot_read(input, error);
    if (got < STEP) {
        int code = 0;
        gzerror(input->packed, &code);
        if (code && code != Z_STREAM_END)
            return cannot_read(input, error);
        input->at_end = got == 0;
    }
    input->is_packed = !gzdirect(input->packed);
    input->end += (size_t)got;
    input->total += (size_t)got;
    if (input->is_packed && input->total > most_unpacked)
        return sprof_error_set(error, SPROF_ELIMIT, 0,
                               "%s unpacks to more than 4 GiB: unpack it yourself if it is what it "
                               "should be",
                               input->path);
    return 0;
}

int import_input_head(struct import_input *input, struct sprof_bytes *head,
                      struct sprof_error *error)
{
    while (input->end - input->start < IMPORT_HEAD && !input->at_end) {
        const int result = fill(input, error);
        if (result)
            return result;
    }
    const size_t size = input->end - input->start;
    *head = (struct sprof_bytes){size ? input->buffer + input->start : NULL,
                                 size < IMPORT_HEAD ? size : IMPORT_HEAD};
    return 0;
}

int import_input_line(struct import_input *input, char **line, size_t *length,
                      struct sprof_error *error)
{
    size_t seen = 0;
    for (;;) {
        const size_t left = input->end - input->start;
        uint8_t *start = left ? input->buffer + input->start : NULL;
        uint8_t *end = left > seen ? memchr(start + seen, '\n', left - seen) : NULL;
        if (!end && !input->at_end) {
            seen = left;
            if (left > most_in_line)
                return sprof_error_set(error, SPROF_ELIMIT, 0,
                                       "%s has a line of more than 256 MiB: is it text?",
                                       input->path);
            const int result = fill(input, error);
            if (result)
                return result;
            continue;
        }
        if (!left)
            return 1;
        *length = end ? (size_t)(end - start) : left;
        input->is_cut = !end;
        input->start += *length + (end ? 1 : 0);
        start[*length] = '\0';
        *line = (char *)start;
        if (*length && start[*length - 1] == '\r')
            start[--*length] = '\0';
        return 0;
    }
}

int import_input_all(struct import_input *input, struct sprof_bytes *bytes,
                     struct sprof_error *error)
{
    while (!input->at_end) {
        const int result = fill(input, error);
        if (result)
            return result;
        if (input->end - input->start > most_at_once)
            return sprof_error_set(error, SPROF_ELIMIT, 0,
                                   "%s holds more than 256 MiB: is it a profile?", input->path);
    }
    *bytes = (struct sprof_bytes){input->buffer ? input->buffer + input->start : NULL,
                                  input->end - input->start};
    return 0;
}
