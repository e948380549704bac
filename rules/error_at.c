/* Makes errors that mark a position in the user's text. */
#include "rules/error_at.h"

#include <string.h>

enum { SHOWN_BEFORE = 60, SHOWN_BEHIND = 40 };

static int columns_of(const char *text, size_t bytes)
{
    int columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

int rules_error_at(const char *text, size_t at, const char *before, const char *what,
                   struct sprof_error *error)
{
    size_t first = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    while (first && ((unsigned char)text[first] & 0xc0) == 0x80)
        first--;
    const size_t shown = at - first + strnlen(text + at, SHOWN_BEHIND);
    struct sprof_str line = {0};
    char part[SHOWN_BEFORE + SHOWN_BEHIND + 8];
    snprintf(part, sizeof part, "%.*s", (int)shown, text + first);
    if (sprof_utf8_clean(&line, part)) {
        sprof_str_release(&line);
        return sprof_error_memory(error);
    }
    const int code =
        sprof_error_set(error, SPROF_EUSAGE, 0, "%s%s\n  %s\n  %*s^", before, what,
                        line.text ? line.text : "", columns_of(text + first, at - first), "");
    sprof_str_release(&line);
    return code;
}
