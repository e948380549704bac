/* Points in time, and windows of it, as people write them. */
#include "cli/values.h"

#include <string.h>
#include <time.h>

static const uint64_t ns_per_s = 1000000000;

static bool parse_clock(const char *text, struct tm *time)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d %H:%M",    "%H:%M:%S",          "%H:%M"};
    const time_t now = (time_t)(sprof_clock_realtime_ns() / ns_per_s);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        localtime_r(&now, time);
        time->tm_sec = 0;
        time->tm_isdst = -1;
        const char *end = strptime(text, forms[i], time);
        if (end && !*end)
            return true;
    }
    return false;
}

/* "2026-11-28T18:50:00Z" */
static bool parse_utc(const char *text, uint64_t *time_ns)
{
    struct tm time = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    if (!end || strcmp(end, "Z"))
        return false;
    *time_ns = (uint64_t)timegm(&time) * ns_per_s;
    return true;
}

int cli_set_time(void *field, const char *value, struct sprof_error *error)
{
    const uint64_t now_ns = sprof_clock_realtime_ns();
    uint64_t ago_ns, *time_ns = field;
    struct tm clock;
    if (!strcmp(value, "now")) {
        *time_ns = now_ns;
    } else if (!parse_utc(value, time_ns)) {
        if (parse_clock(value, &clock)) {
            *time_ns = (uint64_t)mktime(&clock) * ns_per_s;
            if (strlen(value) <= strlen("hh:mm:ss") && *time_ns > now_ns) /* of yesterday */
                *time_ns -= 86400 * ns_per_s;
        } else if (!cli_set_duration(&ago_ns, value + (*value == '-'), NULL) && ago_ns < now_ns) {
            *time_ns = now_ns - ago_ns;
        } else {
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "`%s` is no time: write 18:50, \"2026-11-28 18:50:00\" (local), "
                                   "2026-11-28T18:50:00Z, 10m (ago), or now",
                                   value);
        }
    }
    return 0;
}

int cli_set_window(void *field, const char *value, struct sprof_error *error)
{
    enum { DAY_S = 86400 };
    const uint64_t second_ns = 1000000000;
    const int status = cli_set_duration(field, value, error);
    const uint64_t window_ns = *(const uint64_t *)field;
    if (!status && (window_ns % second_ns || window_ns > DAY_S * second_ns))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a window is whole seconds, at most a day: write 1s, 10s, 1m or 1h");
    return status;
}
