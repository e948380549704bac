/* Replaces what is not UTF-8, and what a terminal would obey, in texts from outside. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define REPLACEMENT "\xef\xbf\xbd"

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

size_t sprof_utf8_plain(const char *text)
{
    size_t length = 0;
    while (text[length] >= 0x20 && text[length] < 0x7f)
        length++;
    return length;
}

/* How far what may be shown as it is reaches, by whole characters. */
static size_t clean_length(const char *text)
{
    size_t length = sprof_utf8_plain(text), next;
    while ((next = sprof_utf8_length(text + length)) &&
           !is_control((const unsigned char *)text + length, next))
        length += next + sprof_utf8_plain(text + length + next);
    return length;
}

/* Bytes that one replacement stands for. */
static size_t dirty_length(const char *text)
{
    const size_t length = sprof_utf8_length(text);
    return length ? length : 1;
}

int sprof_utf8_clean(struct sprof_str *out, const char *text)
{
    int result = sprof_str_append_bytes(out, "", 0);
    while (*text && !result) {
        const size_t clean = clean_length(text);
        result = sprof_str_append_bytes(out, text, clean);
        text += clean;
        if (*text && !result) {
            result = sprof_str_append(out, REPLACEMENT);
            text += dirty_length(text);
        }
    }
    return result;
}

void sprof_utf8_put(FILE *out, const char *text)
{
    while (*text) {
        const size_t clean = clean_length(text);
        fwrite(text, 1, clean, out);
        text += clean;
        if (*text) {
            fputs(REPLACEMENT, out);
            text += dirty_length(text);
        }
    }
}

void sprof_utf8_put_csv(FILE *out, const char *text)
{
    const char *quote = strpbrk(text, ",\"\r\n") ? "\"" : "";
    const bool is_shown = text[clean_length(text)] && isatty(fileno(out));
    fputs(quote, out);
    while (*text) {
        const size_t length = sprof_utf8_length(text);
        fputs(*text == '"' ? "\"" : "", out);
        if (length && (!is_shown || *text == '\n' || *text == '\t' ||
                       !is_control((const unsigned char *)text, length)))
            fwrite(text, 1, length, out);
        else
            fputs(REPLACEMENT, out);
        text += length ? length : 1;
    }
    fputs(quote, out);
}
