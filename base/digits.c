/* Writes whole numbers in groups of three digits. */
#include "base/digits.h"

#include <inttypes.h>
#include <stdio.h>

struct sprof_digits sprof_digits_of(uint64_t number)
{
    struct sprof_digits out;
    char plain[24];
    const int length = snprintf(plain, sizeof plain, "%" PRIu64, number);
    char *at = out.text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *at++ = ' ';
        *at++ = plain[i];
    }
    *at = '\0';
    return out;
}
