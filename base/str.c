/* Implements strings that grow. */
#include "base/str.h"

#include "base/error.h"
#include "base/vec.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int make_room(struct sprof_str *str, size_t more)
{
    const size_t wanted = str->length + more + 1;
    const bool wraps = wanted <= more;
    if (wraps || (wanted > str->capacity &&
                  sprof_vec_grow((void **)&str->text, &str->capacity, 1, wanted))) {
        str->failed = 1;
        return SPROF_ENOMEM;
    }
    return 0;
}

int sprof_str_append_bytes(struct sprof_str *str, const char *bytes, size_t size)
{
    if (make_room(str, size))
        return SPROF_ENOMEM;
    if (size)
        memcpy(str->text + str->length, bytes, size);
    str->length += size;
    str->text[str->length] = '\0';
    return 0;
}

int sprof_str_append(struct sprof_str *str, const char *text)
{
    return sprof_str_append_bytes(str, text, strlen(text));
}

int sprof_str_appendf(struct sprof_str *str, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0 || make_room(str, (size_t)size)) {
        str->failed = 1;
        return SPROF_ENOMEM;
    }
    va_start(arguments, format);
    vsnprintf(str->text + str->length, (size_t)size + 1, format, arguments);
    va_end(arguments);
    str->length += (size_t)size;
    return 0;
}

void sprof_str_clear(struct sprof_str *str)
{
    str->length = 0;
    str->failed = 0;
    if (str->text)
        str->text[0] = '\0';
}

char *sprof_str_take(struct sprof_str *str)
{
    if (!str->text)
        make_room(str, 0);
    char *text = str->text;
    if (text)
        text[str->length] = '\0';
    *str = (struct sprof_str){0};
    return text;
}

void sprof_str_release(struct sprof_str *str)
{
    free(str->text);
    *str = (struct sprof_str){0};
}

size_t sprof_unescape(char *text)
{
    static const char letters[] = "tnrbf0", bytes[] = "\t\n\r\b\f ";
    char *to = text;
    for (const char *from = text; *from; from++) {
        const bool is_escaped = *from == '\\' && from[1];
        from += is_escaped;
        const char *letter = is_escaped ? strchr(letters, *from) : NULL;
        *to++ = letter ? bytes[letter - letters] : *from;
    }
    *to = '\0';
    return (size_t)(to - text);
}

const char *sprof_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

size_t sprof_utf8_length(const char *bytes)
{
    const unsigned char *text = (const unsigned char *)bytes;
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0x80, 0xbf, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
            continue;
        if (forms[i].length > 1 &&
            (text[1] < forms[i].second_low || text[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((text[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}
