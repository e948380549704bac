/* Reads the ranges that selections name: CPUs, and stretches of time. */
#include "report/dataset_parts.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* == CPUs == */

static bool read_cpu(const char **at, unsigned long *cpu)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *cpu = strtoul(*at, &end, 10);
    *at = end;
    return !errno && *cpu < REPORT_CPUS_MAX;
}

int report_cpu_set_parse(struct report_cpu_set *set, const char *list, struct sprof_error *error)
{
    const char *at = list;
    *set = (struct report_cpu_set){0};
    for (;;) {
        unsigned long first, last;
        bool good = read_cpu(&at, &first);
        last = first;
        if (good && *at == '-') {
            at++;
            good = read_cpu(&at, &last) && last >= first;
        }
        if (!good || (*at && *at != ','))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "--cpu %.100s: write CPU numbers, as in 0-3,7", list);
        for (; first <= last; first++)
            set->bits[first / 64] |= UINT64_C(1) << (first % 64);
        if (!*at)
            return 0;
        at++;
    }
}

/* == Time == */

static const double second_ns = 1e9;

/* "14:03", "14:03:10.5" of the day the run began on, or of the next where that is before its start.
 */
static bool read_clock(const char *text, const struct store_run *run, double *time_ns)
{
    const time_t start = (time_t)(run->start_realtime_ns / 1000000000);
    int hours, minutes, used = 0;
    double seconds = 0;
    struct tm day;
    if (sscanf(text, "%2d:%2d%n", &hours, &minutes, &used) != 2 || hours < 0 || hours > 23 ||
        minutes < 0 || minutes > 59)
        return false;
    if (text[used] == ':') {
        char *end;
        if (!isdigit((unsigned char)text[used + 1]))
            return false;
        seconds = strtod(text + used + 1, &end);
        used = (int)(end - text);
    }
    if (text[used] || !(seconds >= 0 && seconds < 61) || !localtime_r(&start, &day))
        return false;
    day.tm_hour = hours;
    day.tm_min = minutes;
    day.tm_sec = 0;
    day.tm_isdst = -1;
    time_t at = mktime(&day);
    /* A range may begin a little before the recording did, but not half a day. */
    if (difftime(start, at) > 12 * 3600.0) {
        day.tm_mday++;
        day.tm_isdst = -1;
        at = mktime(&day);
    }
    *time_ns = difftime(at, start) * second_ns + seconds * second_ns -
               (double)(run->start_realtime_ns % 1000000000);
    return true;
}

static bool read_time(const char *text, const struct store_run *run, uint64_t begin_ns,
                      double *time_ns)
{
    char *end;
    if (strchr(text, ':'))
        return read_clock(text, run, time_ns);
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    const double number = strtod(text, &end);
    *time_ns = number * second_ns;
    if (!strcmp(end, "%"))
        *time_ns = (double)begin_ns + number / 100 * (double)run->duration_ns;
    else if (!strcmp(end, "ms"))
        *time_ns = number * 1e6;
    else if (*end && strcmp(end, "s") != 0)
        return false;
    return isfinite(number);
}

static uint64_t clamp(double time_ns)
{
    return time_ns <= 0 ? 0 : time_ns >= 9e18 ? UINT64_MAX : (uint64_t)time_ns;
}

int report_time_range_parse(struct report_time_range *range, const char *text,
                            const struct store_run *run, uint64_t begin_ns,
                            struct sprof_error *error)
{
    const char *comma = strchr(text, ',');
    char first[64];
    double from = 0, to = INFINITY;
    bool good = comma && (size_t)(comma - text) < sizeof first && strlen(text) > 1;
    if (good) {
        snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
        good = (!*first || read_time(first, run, begin_ns, &from)) &&
               (!comma[1] || read_time(comma + 1, run, begin_ns, &to));
    }
    if (!good)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--time %.100s: write from,to as in 1.5,3 (seconds), 10%%,20%%, or "
                               "14:03:10,14:03:20",
                               text);
    if (to <= from)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--time %.100s: the end is not after the start", text);
    *range = (struct report_time_range){clamp(from), clamp(to)};
    return 0;
}
