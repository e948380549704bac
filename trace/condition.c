/* Parses conditions of a drill-down and evaluates them for a window. */
#include "trace/condition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An average of fewer calls is meaningless. */
enum { CALLS_LEAST = 5, TEXT_MOST = 4096 };

/* == Reading == */

struct reader {
    const char *text, *at;
    size_t length; /* before the colon */
};

static int refuse(const struct reader *reader, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "`%.100s` is no condition: give 10ms, self > 10ms, p99 > 10ms, errors > "
                           "1%%, calls/s > 1000, 3x, 2x siblings, cpu > 50%% or signal, and :RE "
                           "for one root of several",
                           reader->text);
}

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ')
        reader->at++;
}

static bool take(struct reader *reader, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    skip_blanks(reader);
    return true;
}

static bool is_at_end(const struct reader *reader)
{
    return (size_t)(reader->at - reader->text) == reader->length;
}

static bool take_number(struct reader *reader, double *number)
{
    char *end;
    if (*reader->at < '0' || *reader->at > '9')
        return false;
    *number = strtod(reader->at, &end);
    reader->at = end;
    return isfinite(*number) && *number >= 0 && *number < 1e18;
}

static bool take_time(struct reader *reader, double *ns)
{
    if (!take_number(reader, ns))
        return false;
    const double unit = take(reader, "ns")                         ? 1
                        : take(reader, "us") || take(reader, "µs") ? 1e3
                        : take(reader, "ms")                       ? 1e6
                        : take(reader, "s")                        ? 1e9
                                                                   : 0;
    *ns *= unit;
    return unit > 0;
}

static bool take_percent(struct reader *reader, double *percent)
{
    if (!take_number(reader, percent))
        return false;
    skip_blanks(reader);
    return take(reader, "%") && *percent <= 100;
}

/* Digits follow the decimal point: "p99", "p999". */
static bool take_quantile(struct reader *reader, struct trace_condition *condition)
{
    if (*reader->at != 'p' || reader->at[1] < '0' || reader->at[1] > '9')
        return false;
    char *end;
    const unsigned long digits = strtoul(reader->at + 1, &end, 10);
    const long count = end - reader->at - 1;
    reader->at = end;
    skip_blanks(reader);
    condition->kind = TRACE_QUANTILE;
    condition->quantile = (double)digits / pow(10, (double)count);
    return count <= 6 && condition->quantile > 0 && take(reader, ">") &&
           take_time(reader, &condition->limit);
}

static bool take_times_or_time(struct reader *reader, struct trace_condition *condition)
{
    const struct reader begin = *reader;
    if (!take_number(reader, &condition->limit))
        return false;
    if (!take(reader, "x")) {
        *reader = begin;
        condition->kind = TRACE_OVER;
        return take_time(reader, &condition->limit);
    }
    condition->kind = take(reader, "siblings") ? TRACE_SIBLINGS : TRACE_TIMES;
    return condition->limit > 1;
}

static bool read_condition(struct reader *reader, struct trace_condition *condition)
{
    static const struct {
        const char *word;
        enum trace_condition_kind kind;
        bool (*value)(struct reader *reader, double *value);
    } named[] = {{"self", TRACE_SELF, take_time},
                 {"errors", TRACE_ERRORS, take_percent},
                 {"calls/s", TRACE_RATE, take_number},
                 {"cpu", TRACE_CPU, take_percent}};
    if (take(reader, "signal")) {
        condition->kind = TRACE_SIGNAL;
        return true;
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (take(reader, named[i].word)) {
            condition->kind = named[i].kind;
            return take(reader, ">") && named[i].value(reader, &condition->limit);
        }
    return *reader->at == 'p' ? take_quantile(reader, condition)
                              : take_times_or_time(reader, condition);
}

int trace_condition_parse(struct trace_condition *condition, const char *text,
                          struct sprof_error *error)
{
    struct reader reader = {.text = text, .at = text};
    *condition = (struct trace_condition){.text = text};
    const char *colon = strchr(text, ':');
    reader.length = colon ? (size_t)(colon - text) : strlen(text);
    if (strnlen(text, TEXT_MOST + 1) > TEXT_MOST)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a condition has at most %d bytes",
                               TEXT_MOST);
    skip_blanks(&reader);
    if (!read_condition(&reader, condition))
        return refuse(&reader, error);
    skip_blanks(&reader);
    if (!is_at_end(&reader) || (colon && !colon[1]))
        return refuse(&reader, error);
    condition->function = colon ? colon + 1 : NULL;
    return 0;
}

/* == Deciding == */

double trace_condition_measure(const struct trace_condition *condition,
                               const struct trace_window_calls *calls)
{
    const double count = (double)calls->calls;
    if (condition->kind == TRACE_ALWAYS)
        return 0;
    if (condition->kind == TRACE_CPU)
        return calls->cpu_ns > 0 ? 100 * calls->total_ns / calls->cpu_ns : -1;
    if (condition->kind == TRACE_SIGNAL || calls->calls < CALLS_LEAST)
        return -1;
    switch (condition->kind) {
    case TRACE_SELF: return calls->self_ns / count;
    case TRACE_QUANTILE: return calls->quantile_ns;
    case TRACE_ERRORS: return 100 * (double)calls->failed / count;
    case TRACE_RATE: return calls->seconds > 0 ? count / calls->seconds : -1;
    case TRACE_TIMES: return calls->usual_ns > 0 ? calls->total_ns / count / calls->usual_ns : -1;
    case TRACE_SIBLINGS: return calls->threads_ns > 0 ? calls->thread_ns / calls->threads_ns : -1;
    default: return calls->total_ns / count;
    }
}

bool trace_condition_holds(const struct trace_condition *condition,
                           const struct trace_window_calls *calls)
{
    const double measured = trace_condition_measure(condition, calls);
    return condition->kind == TRACE_ALWAYS || (measured >= 0 && measured > condition->limit);
}

void trace_condition_append(const struct trace_condition *condition, double measured,
                            struct sprof_str *out)
{
    switch (condition->kind) {
    case TRACE_ERRORS:
    case TRACE_CPU: sprof_str_appendf(out, "%.1f %%", measured); break;
    case TRACE_RATE: sprof_str_appendf(out, "%.0f/s", measured); break;
    case TRACE_TIMES:
    case TRACE_SIBLINGS: sprof_str_appendf(out, "%.1fx", measured); break;
    default: trace_append_time(out, measured);
    }
}

void trace_append_time(struct sprof_str *out, double ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && ns < units[i].ns)
        i++;
    sprof_str_appendf(out, "%.3g %s", ns / units[i].ns, units[i].name);
}
