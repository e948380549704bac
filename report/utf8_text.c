/* Fits clean texts into columns. */
#include "report/utf8_text.h"

#include <string.h>

const char *report_utf8_copy(struct sprof_arena *arena, const char *text)
{
    struct sprof_str clean = {0};
    const size_t plain = sprof_utf8_plain(text);
    if (!text[plain])
        return sprof_arena_copy(arena, text, plain);
    sprof_utf8_clean(&clean, text);
    return report_utf8_keep(arena, &clean);
}

const char *report_utf8_keep(struct sprof_arena *arena, struct sprof_str *text)
{
    const char *copy = text->failed ? NULL : sprof_arena_copy(arena, text->text, text->length);
    sprof_str_release(text);
    return copy;
}

size_t report_utf8_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* The byte at which column `column` begins. */
static size_t byte_of(const char *text, size_t column)
{
    size_t byte = 0;
    while (text[byte] && column) {
        byte++;
        while (((unsigned char)text[byte] & 0xc0) == 0x80)
            byte++;
        column--;
    }
    return byte;
}

int report_utf8_shortened(struct sprof_str *out, const char *text, size_t width)
{
    const size_t whole = report_utf8_width(text);
    if (whole <= width)
        return sprof_str_append(out, text);
    if (!width)
        return 0;
    /* The end of a name is more useful than its middle: a third of the room is for it. */
    const size_t tail = (width - 1) / 3, head = width - 1 - tail;
    if (sprof_str_append_bytes(out, text, byte_of(text, head)) || sprof_str_append(out, "…"))
        return SPROF_ENOMEM;
    return sprof_str_append(out, text + byte_of(text, whole - tail));
}

int report_utf8_cut(struct sprof_str *out, const char *text, size_t width)
{
    if (report_utf8_width(text) <= width)
        return sprof_str_append(out, text);
    if (!width)
        return 0;
    const int result = sprof_str_append_bytes(out, text, byte_of(text, width - 1));
    return result ? result : sprof_str_append(out, "…");
}

int report_utf8_end(struct sprof_str *out, const char *text, size_t width)
{
    const size_t whole = report_utf8_width(text);
    if (whole <= width)
        return sprof_str_append(out, text);
    if (!width)
        return 0;
    const int result = sprof_str_append(out, "…");
    return result ? result : sprof_str_append(out, text + byte_of(text, whole - width + 1));
}

int report_utf8_spaces(struct sprof_str *out, size_t count)
{
    int result = 0;
    while (count-- && !result)
        result = sprof_str_append_bytes(out, " ", 1);
    return result;
}

static size_t missing(const char *text, size_t width)
{
    const size_t own = report_utf8_width(text);
    return own < width ? width - own : 0;
}

int report_utf8_left(struct sprof_str *out, const char *text, size_t width)
{
    const int result = report_utf8_shortened(out, text, width);
    return result ? result : report_utf8_spaces(out, missing(text, width));
}

int report_utf8_right(struct sprof_str *out, const char *text, size_t width)
{
    const int result = report_utf8_spaces(out, missing(text, width));
    return result ? result : report_utf8_shortened(out, text, width);
}

const char *report_utf8_short_path(const char *path)
{
    const char *last = strrchr(path, '/'), *at = last;
    while (at && at > path && at[-1] != '/')
        at--;
    return at && at > path ? at : path;
}
