/* From stacks that a format's reader adds to a recording: an import is held in memory until its
 * whole input has turned out to be good. */
#include "import/parts.h"

#include "import/rows.h"

#include <stdlib.h>
#include <string.h>

int import_open(struct import *import, const struct import_options *options,
                struct sprof_error *error)
{
    *import = (struct import){.options = options, .name = options->input};
    const struct recording_options recording = {.view = {.mode = MODEL_MODE_FULL},
                                                .rules = options->rules,
                                                .overwrite = options->overwrite,
                                                .no_cache = true,
                                                .log = options->log};
    const int result = recording_open(&import->recording, &recording, error);
    if (result)
        return result;
    struct store_run *run = recording_run(import->recording);
    run->sprof_version = options->sprof_version;
    run->command = options->input;
    run->source = MODEL_SOURCE_IMPORT;
    return 0;
}

void import_free(struct import *import)
{
    recording_free(import->recording);
    sprof_vec_release(&import->names.levels);
    sprof_vec_release(&import->names.addresses);
    sprof_vec_release(&import->events);
    sprof_vec_release(&import->samples);
    sprof_intern_release(&import->texts);
    sprof_intern_release(&import->keys);
}

static int by_time(const void *a, const void *b)
{
    const struct import_sample *first = a, *second = b;
    return (first->time_ns > second->time_ns) - (first->time_ns < second->time_ns);
}

/* Time 0 is that of the first sample, and the run lasts to the last. */
static void settle_times(struct import *import)
{
    struct store_run *run = recording_run(import->recording);
    run->start_realtime_ns =
        import->start_realtime_ns ? import->start_realtime_ns : sprof_clock_realtime_ns();
    run->duration_ns = import->duration_ns;
    if (!import->has_times)
        return;
    struct import_sample *samples = import->samples.items;
    const size_t count = import->samples.count;
    qsort(samples, count, sizeof *samples, by_time);
    const uint64_t start_ns = samples[0].time_ns;
    for (size_t i = 0; i < count; i++)
        samples[i].time_ns -= start_ns;
    run->duration_ns = samples[count - 1].time_ns;
}

static int add_rows(struct import *import)
{
    SPROF_VEC(uint32_t) ids = {0};
    int result = 0;
    for (size_t i = 0; i < import->events.count && !result; i++) {
        const struct import_event *event = &import->events.items[i];
        const struct store_event row = {.name = event->name,
                                        .is_clock = event->is_clock,
                                        .varying = !event->period,
                                        .period = event->period};
        uint32_t id;
        result = recording_add_event(import->recording, &row, &id) || sprof_vec_push(&ids, id)
                     ? SPROF_ENOMEM
                     : 0;
    }
    for (size_t i = 0; i < import->samples.count && !result; i++) {
        const struct import_sample *sample = &import->samples.items[i];
        struct store_sample row = {
            .event_id = ids.items[sample->event],
            .thread_id = sample->thread,
            .node_id = sample->node,
            .time_ns = sample->time_ns,
            .weight = sample->cost.weight,
            .cpu = sample->cpu,
            .end_reason = import->whole_stacks ? MODEL_END_ROOT : MODEL_END_NO_STACK,
            .user_stack = import->whole_stacks,
        };
        uint64_t left = sample->cost.samples;
        do {
            row.count = left < STORE_SAMPLE_COUNT_MAX ? left : STORE_SAMPLE_COUNT_MAX;
            result = recording_add_sample(import->recording, &row);
            left -= row.count;
            row.weight = 0; /* the first row has all of it */
        } while (left && !result);
    }
    sprof_vec_release(&ids);
    return result;
}

static int finish(struct import *import, struct sprof_error *error)
{
    const struct recording_end end = {.names = &import->names};
    settle_times(import);
    int result = add_rows(import) ? sprof_error_memory(error) : 0;
    if (!result)
        result = recording_create(import->recording, import->options->output, error);
    if (!result)
        result = recording_start(import->recording, 0, 0, error);
    return result ? result : recording_finish(import->recording, &end, error);
}

int import_file(const struct import_options *options, struct import_result *result,
                struct sprof_error *error)
{
    const struct import_format *format = options->format;
    struct import_input input;
    struct import import;
    struct sprof_bytes head;
    int code = import_input_open(&input, options->input, error);
    if (code)
        return code;
    code = import_input_head(&input, &head, error);
    if (!code)
        code = import_format_check(options->input, head, format, error);
    if (!code && !format)
        format = import_format_of(head);
    if (!code && import_format_is_rows(format))
        code = import_rows_opened(options, &input, result, error);
    else if (!code && (code = import_open(&import, options, error)) == 0) {
        code = format->read(&import, &input, error);
        if (!code)
            code = finish(&import, error);
        *result = (struct import_result){format->name, import.taken, 1};
        import_free(&import);
    }
    import_input_close(&input);
    return code == SPROF_ENOMEM ? sprof_error_memory(error) : code;
}
