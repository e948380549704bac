/* Numbers as people read them, and as programs do. */
#include "report/number_format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static const uint64_t second_ns = 1000000000, millisecond_ns = 1000000, microsecond_ns = 1000;

/* part / whole in units of 1 / scale, to the nearest, halves up. */
static uint64_t rounded(uint64_t part, uint64_t whole, unsigned scale)
{
    const unsigned __int128 doubled = (unsigned __int128)part * scale * 2 + whole;
    return whole ? (uint64_t)(doubled / ((unsigned __int128)whole * 2)) : 0;
}

char *report_number_percent(char buffer[static NUMBER_BYTES], uint64_t part, uint64_t whole,
                            unsigned decimals)
{
    static const unsigned scales[] = {1, 10, 100};
    const unsigned scale = scales[decimals < 2 ? decimals : 2];
    const uint64_t units = rounded(part, whole, scale * 100);
    if (scale == 1)
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 " %%", units);
    else
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%0*" PRIu64 " %%", units / scale, (int)decimals,
                 units % scale);
    return buffer;
}

char *report_number_quality(char buffer[static NUMBER_BYTES], uint64_t part, uint64_t whole)
{
    if (!part || part >= whole)
        return report_number_percent(buffer, part, whole, 0);
    const uint64_t units = rounded(part, whole, 10000);
    const uint64_t shown = units > 9999 ? 9999 : units ? units : 1;
    snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%02" PRIu64 " %%", shown / 100, shown % 100);
    return buffer;
}

uint64_t report_number_time_unit(uint64_t time_ns)
{
    return time_ns >= second_ns                    ? second_ns
           : time_ns >= millisecond_ns || !time_ns ? millisecond_ns
                                                   : microsecond_ns;
}

char *report_number_time(char buffer[static NUMBER_BYTES], uint64_t time_ns, uint64_t unit_ns)
{
    const bool seconds = unit_ns == second_ns;
    const uint64_t hundredths = rounded(time_ns, unit_ns, seconds ? 100 : 10);
    if (time_ns && !hundredths && unit_ns > microsecond_ns)
        return report_number_time(buffer, time_ns, unit_ns / 1000);
    if (seconds)
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%02" PRIu64 " s", hundredths / 100,
                 hundredths % 100);
    else
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%" PRIu64 " %s", hundredths / 10,
                 hundredths % 10, unit_ns == microsecond_ns ? "µs" : "ms");
    return buffer;
}

char *report_number_length(char buffer[static NUMBER_BYTES], uint64_t time_ns)
{
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    double value = (double)time_ns;
    size_t unit = 0;
    if (time_ns == UINT64_MAX) {
        snprintf(buffer, NUMBER_BYTES, "–");
        return buffer;
    }
    for (; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    const int decimals = !unit || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buffer, NUMBER_BYTES, "%.*f %s", decimals, value, units[unit]);
    return buffer;
}

char *report_number_moment(char buffer[static NUMBER_BYTES], uint64_t time_ns)
{
    const uint64_t microseconds = rounded(time_ns, second_ns, 1000000);
    snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%06" PRIu64 " s", microseconds / 1000000,
             microseconds % 1000000);
    return buffer;
}

char *report_number_seconds(char buffer[static NUMBER_BYTES], uint64_t time_ns)
{
    snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%09" PRIu64, time_ns / second_ns,
             time_ns % second_ns);
    return buffer;
}

char *report_number_size(char buffer[static NUMBER_BYTES], uint64_t bytes)
{
    const uint64_t megabyte = 1000000, kilobyte = 1000;
    if (bytes >= megabyte / 10)
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 ".%" PRIu64 " MB",
                 rounded(bytes, megabyte, 10) / 10, rounded(bytes, megabyte, 10) % 10);
    else
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 " kB", rounded(bytes, kilobyte, 1));
    return buffer;
}

double report_number_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part * 100 / (double)whole : 0;
}
