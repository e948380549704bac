/* Parses conditions of a drill-down and evaluates them for a window. */
#include "rules/condition.h"

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
static bool take_quantile(struct reader *reader, struct rules_condition *condition)
{
    if (*reader->at != 'p' || reader->at[1] < '0' || reader->at[1] > '9')
        return false;
    char *end;
    const unsigned long digits = strtoul(reader->at + 1, &end, 10);
    const long count = end - reader->at - 1;
    reader->at = end;
    skip_blanks(reader);
    condition->kind = RULES_QUANTILE;
    condition->quantile = (double)digits / pow(10, (double)count);
    return count <= 6 && condition->quantile > 0 && take(reader, ">") &&
           take_time(reader, &condition->limit);
}

static bool take_times_or_time(struct reader *reader, struct rules_condition *condition)
{
    const struct reader begin = *reader;
    if (!take_number(reader, &condition->limit))
        return false;
    if (!take(reader, "x")) {
        *reader = begin;
        condition->kind = RULES_OVER;
        return take_time(reader, &condition->limit);
    }
    condition->kind = take(reader, "siblings") ? RULES_SIBLINGS : RULES_TIMES;
    return condition->limit > 1;
}

static bool read_condition(struct reader *reader, struct rules_condition *condition)
{
    static const struct {
        const char *word;
        enum rules_condition_kind kind;
        bool (*value)(struct reader *reader, double *value);
    } named[] = {{"self", RULES_SELF, take_time},
                 {"errors", RULES_ERRORS, take_percent},
                 {"calls/s", RULES_RATE, take_number},
                 {"cpu", RULES_CPU, take_percent}};
    if (take(reader, "signal")) {
        condition->kind = RULES_SIGNAL;
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

int rules_condition_parse(struct rules_condition *condition, const char *text,
                          struct sprof_error *error)
{
    struct reader reader = {.text = text, .at = text};
    *condition = (struct rules_condition){.text = text};
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

double rules_condition_measure(const struct rules_condition *condition,
                               const struct rules_window_calls *calls)
{
    const double count = (double)calls->calls;
    if (condition->kind == RULES_ALWAYS)
        return 0;
    if (condition->kind == RULES_CPU)
        return calls->cpu_ns > 0 ? 100 * calls->total_ns / calls->cpu_ns : -1;
    if (condition->kind == RULES_SIGNAL || calls->calls < CALLS_LEAST)
        return -1;
    switch (condition->kind) {
    case RULES_SELF: return calls->self_ns / count;
    case RULES_QUANTILE: return calls->quantile_ns;
    case RULES_ERRORS: return 100 * (double)calls->failed / count;
    case RULES_RATE: return calls->seconds > 0 ? count / calls->seconds : -1;
    case RULES_TIMES: return calls->usual_ns > 0 ? calls->total_ns / count / calls->usual_ns : -1;
    case RULES_SIBLINGS: return calls->threads_ns > 0 ? calls->thread_ns / calls->threads_ns : -1;
    default: return calls->total_ns / count;
    }
}

bool rules_condition_holds(const struct rules_condition *condition,
                           const struct rules_window_calls *calls)
{
    const double measured = rules_condition_measure(condition, calls);
    return condition->kind == RULES_ALWAYS || (measured >= 0 && measured > condition->limit);
}

void rules_condition_append(const struct rules_condition *condition, double measured,
                            struct sprof_str *out)
{
    switch (condition->kind) {
    case RULES_ERRORS:
    case RULES_CPU: sprof_str_appendf(out, "%.1f %%", measured); break;
    case RULES_RATE: sprof_str_appendf(out, "%.0f/s", measured); break;
    case RULES_TIMES:
    case RULES_SIBLINGS: sprof_str_appendf(out, "%.1fx", measured); break;
    default: rules_append_time(out, measured);
    }
}

void rules_append_time(struct sprof_str *out, double ns)
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
