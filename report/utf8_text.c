/* Makes texts from outside fit for a terminal and for columns. */
#include "report/utf8_text.h"

#include <stdbool.h>
#include <string.h>

/* C0, DEL, C1, and what reorders or hides text on a terminal. */
static bool is_control(const unsigned char *text, size_t length)
{
    if (length == 1)
        return text[0] < 0x20 || text[0] == 0x7f;
    if (length == 2)
        return text[0] == 0xc2 && text[1] < 0xa0;
    if (length != 3 || text[0] != 0xe2)
        return false;
    const bool marks = text[1] == 0x80 && ((text[2] >= 0x8b && text[2] <= 0x8f) ||
                                           (text[2] >= 0xa8 && text[2] <= 0xae));
    return marks || (text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9);
}

/* Bytes of printable ASCII at `text`: nearly all that a name consists of. */
static size_t plain_length(const unsigned char *text)
{
    size_t length = 0;
    while (text[length] >= 0x20 && text[length] < 0x7f)
        length++;
    return length;
}

int report_utf8_clean(struct sprof_str *out, const char *text)
{
    int result = sprof_str_append_bytes(out, "", 0);
    for (const unsigned char *at = (const unsigned char *)text; *at && !result;) {
        const size_t plain = plain_length(at);
        if (plain) {
            result = sprof_str_append_bytes(out, (const char *)at, plain);
            at += plain;
            continue;
        }
        const size_t length = sprof_utf8_length((const char *)at);
        if (length && !is_control(at, length))
            result = sprof_str_append_bytes(out, (const char *)at, length);
        else
            result = sprof_str_append(out, "\xef\xbf\xbd");
        at += length ? length : 1;
    }
    return result;
}

const char *report_utf8_copy(struct sprof_arena *arena, const char *text)
{
    struct sprof_str clean = {0};
    const size_t plain = plain_length((const unsigned char *)text);
    if (!text[plain])
        return sprof_arena_copy(arena, text, plain);
    report_utf8_clean(&clean, text);
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
    /* The end of a name tells more than its middle: a third of the room is for it. */
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
