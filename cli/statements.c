/* Splits standard input into SQL statements. */
#include "cli/statements.h"

#include <ctype.h>
#include <string.h>

/* What hides a semicolon, and what ends the hiding. */
static const struct {
    const char *opening, *closing;
    bool comment;
} hidings[] = {
    {"'", "'", false}, {"\"", "\"", false}, {"`", "`", false},
    {"[", "]", false}, {"--", "\n", true},  {"/*", "*/", true},
};

/* The end of the quote or comment that starts at `text`; `text` itself where none does; NULL where
 * it does not end. */
static const char *skip_hiding(const char *text, bool *comment)
{
    for (size_t i = 0; i < sizeof hidings / sizeof *hidings; i++) {
        const size_t length = strlen(hidings[i].opening);
        if (strncmp(text, hidings[i].opening, length) != 0)
            continue;
        const char *closing = strstr(text + length, hidings[i].closing);
        *comment = hidings[i].comment;
        return closing ? closing + strlen(hidings[i].closing) : NULL;
    }
    return text;
}

size_t cli_statement_length(const char *text)
{
    const char *next = text;
    while (*next) {
        bool comment;
        const char *end = skip_hiding(next, &comment);
        if (!end)
            return 0;
        if (end == next && *next == ';')
            return (size_t)(next - text) + 1;
        next = end == next ? next + 1 : end;
    }
    return 0;
}

bool cli_statement_is_empty(const char *text, size_t length)
{
    const char *next = text;
    while (next < text + length && *next) {
        bool comment = false;
        const char *end = skip_hiding(next, &comment);
        if (!end)
            return comment; /* a comment that runs to the end */
        if (end != next && !comment)
            return false;
        if (end == next && !isspace((unsigned char)*next) && *next != ';')
            return false;
        next = end == next ? next + 1 : end;
    }
    return true;
}
