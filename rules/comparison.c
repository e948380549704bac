/* Reads the signs and numbers of comparisons. */
#include "rules/comparison.h"

#include <stdlib.h>
#include <string.h>

enum comparison rules_comparison(const char *text, size_t *length)
{
    static const struct {
        const char *sign;
        enum comparison how;
    } signs[] = {{"==", EQUAL}, {"!=", NOT_EQUAL}, {"<=", AT_MOST}, {">=", AT_LEAST},
                 {"=", EQUAL},  {"<", LESS},       {">", MORE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        *length = strlen(signs[i].sign);
        if (!strncmp(text, signs[i].sign, *length))
            return signs[i].how;
    }
    *length = 0;
    return NO_COMPARISON;
}

bool rules_comparison_ends(const char *word, size_t word_length, size_t length)
{
    const char next = word[length];
    return length == word_length || (next >= '0' && next <= '9') || next == '-' || next == '"';
}

bool rules_number(const char *text, size_t length, long double *number)
{
    char copy[64], *stop = NULL;
    const size_t sign = *text == '-';
    if (length >= sizeof copy || length <= sign || text[sign] < '0' || text[sign] > '9')
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *number = strtold(copy, &stop);
    return stop == copy + length && *number > -9e18L && *number < 9e18L;
}
