/* Writes parts of lines about quality, and finds what several of them need. */
#include "report/quality.h"
#include "report/utf8_text.h"

#include <stdarg.h>
#include <string.h>

/* Fewer samples than this say nothing about the rate at which they came. */
enum { SAMPLES_FOR_A_RATE = 20 };

enum { MUCH_COST_PERCENT = 10 };

/* Beside a target that used less, sprof's own start alone would look enormous. */
static const uint64_t least_target_ns = 100 * 1000 * 1000;

int report_quality_part(struct report_dataset *dataset, struct quality_parts *parts,
                        const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *copy = parts->count < QUALITY_MOST ? report_utf8_copy(&dataset->arena, text) : NULL;
    if (!copy)
        return SPROF_ENOMEM;
    parts->items[parts->count++] = copy;
    return 0;
}

void report_quality_write_parts(FILE *out, const struct quality_parts *parts, const char *prefix,
                                unsigned columns)
{
    size_t width = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const size_t own = report_utf8_width(parts->items[i]);
        if (width && width + 3 + own > columns) {
            fputc('\n', out);
            width = 0;
        }
        fprintf(out, "%s%s", width ? " · " : prefix, parts->items[i]);
        width += own + (width ? 3 : report_utf8_width(prefix));
    }
    if (parts->count)
        fputc('\n', out);
}

char *report_quality_rate(char buffer[static NUMBER_BYTES], const struct store_quality *quality)
{
    buffer[0] = '\0';
    if (quality->requested_hz > 0 && quality->samples < SAMPLES_FOR_A_RATE)
        snprintf(buffer, NUMBER_BYTES, "%.0f Hz asked", quality->requested_hz);
    else if (quality->requested_hz > 0)
        snprintf(buffer, NUMBER_BYTES, "%.0f of %.0f Hz", quality->reached_hz,
                 quality->requested_hz);
    return buffer;
}

char *report_quality_own_cost(char buffer[static NUMBER_BYTES], const struct store_quality *quality)
{
    return quality->target_cpu_ns < least_target_ns
               ? report_number_time(buffer, quality->own_cpu_ns,
                                    report_number_time_unit(quality->own_cpu_ns))
               : report_number_percent(buffer, quality->own_cpu_ns, quality->target_cpu_ns, 1);
}

bool report_quality_is_costly(const struct store_quality *quality)
{
    return quality->target_cpu_ns >= least_target_ns &&
           report_number_share(quality->own_cpu_ns, quality->target_cpu_ns) > MUCH_COST_PERCENT;
}

bool report_quality_is_by_agents(const struct report_dataset *dataset)
{
    const char *source = dataset->run.source;
    return source && !strncmp(source, MODEL_SOURCE_AGENT, strlen(MODEL_SOURCE_AGENT));
}

bool report_quality_sees_waiting(const struct report_dataset *dataset)
{
    const char *name = dataset->event.name;
    return dataset->event_sum ||
           (name && (!strcmp(name, MODEL_EVENT_WALL) || model_event_wait(name)));
}

bool report_quality_has_waits(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->events.count; i++)
        if (model_event_wait(dataset->events.items[i].name))
            return true;
    return false;
}

bool report_quality_is_wall(const struct report_dataset *dataset)
{
    const char *name = dataset->event.name;
    return !dataset->event_sum && name && !strcmp(name, MODEL_EVENT_WALL) &&
           !report_quality_has_waits(dataset);
}

bool report_quality_is_all_time(const struct report_dataset *dataset)
{
    return report_quality_is_wall(dataset) ||
           (dataset->event_sum == REPORT_ON_AND_OFF && report_dataset_is_by_looks(dataset));
}

bool report_quality_has_unseen_waits(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->events.count; i++) {
        const char *wait = model_event_wait(dataset->events.items[i].name);
        if (wait && !strcmp(wait, MODEL_WAIT_UNSEEN))
            return true;
    }
    return false;
}
