/* Counts the tests that cannot run here. */
#include "tests/unit/skip.h"

#include <stdarg.h>
#include <stdio.h>

static unsigned skips;

void sprof_test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("\n    SKIPPED: ");
    vprintf(format, arguments);
    va_end(arguments);
    skips++;
}

unsigned sprof_test_skips(void)
{
    return skips;
}
