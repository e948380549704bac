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

/* One end of a stretch: a time of day, or one since the run began. */
struct moment {
    bool given, is_clock;
    int hours, minutes;
    double seconds;  /* behind the minute */
    double exact_ns; /* how long it is: "14:03" is a minute, "14:03:10" a second */
    double time_ns;  /* since the run began; of a time of day: where it was found */
};

/* "14:03", "14:03:10.5". */
static bool read_clock(const char *text, struct moment *moment)
{
    int used = 0;
    moment->is_clock = true;
    moment->seconds = 0;
    moment->exact_ns = 60 * second_ns;
    if (sscanf(text, "%2d:%2d%n", &moment->hours, &moment->minutes, &used) != 2 ||
        moment->hours < 0 || moment->hours > 23 || moment->minutes < 0 || moment->minutes > 59)
        return false;
    if (text[used] == ':') {
        char *end;
        if (!isdigit((unsigned char)text[used + 1]))
            return false;
        moment->seconds = strtod(text + used + 1, &end);
        moment->exact_ns = strchr(text, '.') ? 0 : second_ns;
        used = (int)(end - text);
    }
    return !text[used] && moment->seconds >= 0 && moment->seconds < 61;
}

/* The times at which the clock of a day showed the moment, in order; 0 is the day that the run
 * began on. There are two where clocks go back; where they go on, the one that stands for none. */
static int times_on_day(const struct moment *moment, const struct store_run *run, int day,
                        double times_ns[static 2])
{
    const time_t start = (time_t)(run->start_realtime_ns / 1000000000);
    time_t found[2];
    int count = 0;
    for (int summer = 1; summer >= -1; summer--) {
        struct tm parts, shown;
        if (!localtime_r(&start, &parts) || (summer < 0 && count))
            break;
        parts.tm_mday += day;
        parts.tm_hour = moment->hours;
        parts.tm_min = moment->minutes;
        parts.tm_sec = 0;
        parts.tm_isdst = summer;
        const time_t at = mktime(&parts);
        const bool shows = localtime_r(&at, &shown) && shown.tm_hour == moment->hours &&
                           shown.tm_min == moment->minutes;
        if ((shows || summer < 0) && (!count || found[0] != at))
            found[count++] = at;
    }
    for (int i = 0; i < count; i++)
        times_ns[i] = difftime(found[i], start) * second_ns + moment->seconds * second_ns -
                      (double)(run->start_realtime_ns % 1000000000);
    return count;
}

/* The first time from `least_ns` on at which the clock showed the moment, on the days of the run
 * and one before and behind; INFINITY: there is none. */
static double next_time(const struct moment *moment, const struct store_run *run, double least_ns)
{
    const int days = (int)((double)run->duration_ns / (86400 * second_ns)) + 2;
    for (int day = -2; day <= days; day++) {
        double times_ns[2];
        const int count = times_on_day(moment, run, day, times_ns);
        for (int i = 0; i < count; i++)
            if (times_ns[i] >= least_ns)
                return times_ns[i];
    }
    return INFINITY;
}

/* Finds the first stretch of times of day that holds some of the run. Where only its begin is one,
 * that must lie in the run; where only its end is, that may be behind the run, but no further than
 * the same time of another day lies before it. */
static bool find_clock(struct moment *from, struct moment *to, const struct store_run *run)
{
    const double end_ns = (double)run->duration_ns, day_ns = 86400 * second_ns;
    if (from->is_clock && to->is_clock) {
        double begin = next_time(from, run, -day_ns);
        for (; begin <= end_ns; begin = next_time(from, run, begin + 1)) {
            const double end = next_time(to, run, begin + 1);
            if (end <= 0)
                continue;
            from->time_ns = begin;
            to->time_ns = end;
            return isfinite(end);
        }
        return false;
    }
    if (from->is_clock) {
        from->time_ns = next_time(from, run, 1 - from->exact_ns);
        return from->time_ns <= end_ns;
    }
    if (to->is_clock) {
        to->time_ns = next_time(to, run, fmax(1, from->time_ns + 1));
        return to->time_ns <= end_ns || to->time_ns - end_ns < day_ns - to->time_ns;
    }
    return true;
}

static bool read_moment(const char *text, const struct store_run *run, uint64_t begin_ns,
                        struct moment *moment)
{
    char *end;
    moment->given = *text;
    if (!*text)
        return true;
    if (strchr(text, ':'))
        return read_clock(text, moment);
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    const double number = strtod(text, &end);
    moment->time_ns = number * second_ns;
    if (!strcmp(end, "%"))
        moment->time_ns = (double)begin_ns + number / 100 * (double)run->duration_ns;
    else if (!strcmp(end, "ms"))
        moment->time_ns = number * 1e6;
    else if (*end && strcmp(end, "s") != 0)
        return false;
    return isfinite(number);
}

static uint64_t clamp(double time_ns)
{
    return time_ns <= 0 ? 0 : time_ns >= 9e18 ? UINT64_MAX : (uint64_t)time_ns;
}

/* "Jun 10 23:59:50". */
static void write_clock(uint64_t realtime_ns, char text[static 32])
{
    const time_t at = (time_t)(realtime_ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&at, &parts) || !strftime(text, 32, "%b %e %H:%M:%S", &parts))
        snprintf(text, 32, "an unknown time");
}

static int outside(const char *text, const struct store_run *run, struct sprof_error *error)
{
    char begin[32], end[32];
    write_clock(run->start_realtime_ns, begin);
    write_clock(run->start_realtime_ns + run->duration_ns, end);
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           "--time %.100s is not in this recording: it was made from %s to %s",
                           text, begin, end);
}

int report_time_range_parse(struct report_time_range *range, const char *text,
                            const struct store_run *run, uint64_t begin_ns,
                            struct sprof_error *error)
{
    const char *comma = strchr(text, ',');
    char first[64];
    struct moment from = {0}, to = {.time_ns = INFINITY};
    bool good = comma && (size_t)(comma - text) < sizeof first && strlen(text) > 1;
    if (good) {
        snprintf(first, sizeof first, "%.*s", (int)(comma - text), text);
        good =
            read_moment(first, run, begin_ns, &from) && read_moment(comma + 1, run, begin_ns, &to);
    }
    if (!good)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--time %.100s: write from,to as in 1.5,3 (seconds), 10%%,20%%, or "
                               "14:03:10,14:03:20",
                               text);
    if (!find_clock(&from, &to, run))
        return outside(text, run, error);
    if (to.time_ns <= from.time_ns)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--time %.100s: the end is not after the start", text);
    *range = (struct report_time_range){clamp(from.time_ns), clamp(to.time_ns)};
    return 0;
}
