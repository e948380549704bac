/* Passes messages and progress to the callback of a log. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void sprof_log_message(const struct sprof_log *log, enum sprof_log_level level, const char *format,
                       ...)
{
    if (!log || !log->message)
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log->message(log->context, level, text);
}

void sprof_log_progress(const struct sprof_log *log, const char *phase, uint64_t done,
                        uint64_t total)
{
    if (log && log->progress)
        log->progress(log->context, phase, done, total);
}
