/* Strings that grow. */
#ifndef SPROF_BASE_STR_H
#define SPROF_BASE_STR_H

#include <stddef.h>
#include <stdint.h>

/* Zero is a valid empty string. `text` is NULL or NUL-terminated. A failed append sets `failed` and
 * leaves the text as it was, so that a caller may check once, at the end. */
struct sprof_str {
    char *text;
    size_t length, capacity;
    int failed;
};

/* Each returns 0 or SPROF_ENOMEM. */
int sprof_str_append(struct sprof_str *str, const char *text);
int sprof_str_append_bytes(struct sprof_str *str, const char *bytes, size_t size);
int sprof_str_appendf(struct sprof_str *str, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the string empty and keeps its memory. */
void sprof_str_clear(struct sprof_str *str);

/* Hands the text to the caller for free(); never NULL unless memory ran out. Leaves str empty. */
char *sprof_str_take(struct sprof_str *str);

void sprof_str_release(struct sprof_str *str);

/* Undoes what backslashes escape in a tab-separated value, in place. Returns its length. */
size_t sprof_unescape(char *text);

/* What makes a plural of a regular noun behind a number: "s", or "" behind 1. */
const char *sprof_plural(uint64_t count);

/* Bytes of the valid UTF-8 sequence at `text` (RFC 3629), 0 where there is none. */
size_t sprof_utf8_length(const char *text);

#endif
