/* What a reader of a format gives: frames, nodes, threads, samples, and what it could not read. */
#include "import/parts.h"

enum { COMPLAINTS_MAX = 20 };

const char *import_text(struct import *import, const char *text)
{
    uint32_t number;
    return sprof_intern_put(&import->texts, text, &number)
               ? NULL
               : sprof_intern_text(&import->texts, number);
}

int import_address(struct import *import, const struct recording_level *levels, size_t count,
                   uint64_t address, uint32_t *number)
{
    struct recording_names *names = &import->names;
    for (size_t i = 0; i < count; i++)
        if (sprof_vec_push(&names->levels, levels[i]))
            return SPROF_ENOMEM;
    const struct recording_named named = {names->levels.count, address};
    *number = (uint32_t)names->addresses.count + 1;
    return sprof_vec_push(&names->addresses, named);
}

int import_node(struct import *import, uint32_t parent, const struct import_module *module,
                uint32_t address, uint32_t *node)
{
    struct sprof_file_id file = {.path = module->path && *module->path ? module->path
                                                                       : IMPORT_NO_MODULE};
    if (module->build_id.size && module->build_id.size <= sizeof file.build_id) {
        memcpy(file.build_id, module->build_id.data, module->build_id.size);
        file.build_id_size = (uint8_t)module->build_id.size;
    }
    return recording_child(import->recording, parent, &file, module->in_kernel, address, node);
}

int import_event(struct import *import, const char *name, bool is_clock, uint32_t *event)
{
    for (*event = 0; *event < import->events.count; ++*event)
        if (!strcmp(import->events.items[*event].name, name))
            return 0;
    const struct import_event added = {.name = import_text(import, name), .is_clock = is_clock};
    return !added.name || sprof_vec_push(&import->events, added) ? SPROF_ENOMEM : 0;
}

int import_thread(struct import *import, pid_t pid, pid_t tid, const char *process,
                  const char *thread, uint32_t *id)
{
    const struct model_thread *found = NULL;
    if (process && pid != tid && !recording_thread(import->recording, pid, pid, process, 0))
        return SPROF_ENOMEM;
    found = recording_thread(import->recording, pid, tid, thread ? thread : process, 0);
    *id = found ? found->id : 0;
    return found ? 0 : SPROF_ENOMEM;
}

const char *import_sample(struct import *import, const struct import_sample *sample, int *result)
{
    struct import_event *event = &import->events.items[sample->event];
    *result = 0;
    if (sample->cost.samples > INT64_MAX || sample->cost.weight > INT64_MAX)
        return "the count is too large";
    if (sample->cost.samples > INT64_MAX - event->total.samples ||
        sample->cost.weight > INT64_MAX - event->total.weight)
        return "the counts add up to more than fits";
    event->total.samples += sample->cost.samples;
    event->total.weight += sample->cost.weight;
    const uint64_t each = sample->cost.samples ? sample->cost.weight / sample->cost.samples : 0;
    const bool even = sample->cost.samples && each * sample->cost.samples == sample->cost.weight;
    if (!event->seen)
        event->period = even ? each : 0;
    else if (!even || event->period != each)
        event->period = 0;
    event->seen = true;
    import->taken += sample->cost.samples;
    *result = sprof_vec_push(&import->samples, *sample);
    return NULL;
}

void import_complain(struct import *import, const char *what)
{
    if (++import->bad_lines <= COMPLAINTS_MAX)
        sprof_log_message(import->options->log, SPROF_LOG_WARNING, "%s:%zu: %s", import->name,
                          import->line, what);
}

/* Whether the input is hardly of the format that its content was taken for. */
static bool is_something_else(const struct import *import)
{
    return !import->options->format && import->any_text && import->bad_lines > import->good_lines;
}

int import_check(struct import *import, const char *what, const char *form,
                 struct sprof_error *error)
{
    const char *plural = import->bad_lines == 1 ? "" : "s";
    if (import->bad_lines && (!import->samples.count || is_something_else(import)))
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s: %zu malformed line%s; nothing was imported: %s%s", import->name,
                               import->bad_lines, plural, form,
                               import->options->format ? "" : ", or say with -f what the file is");
    if (!import->samples.count)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s holds no %s: %s", import->name, what,
                               form);
    if (import->bad_lines)
        sprof_log_message(import->options->log, SPROF_LOG_WARNING,
                          "%s: %zu line%s could not be read and %s left out", import->name,
                          import->bad_lines, plural, *plural ? "are" : "is");
    return 0;
}
