/* Says in words what a sample belongs to. */
#include "report/key_text.h"

#include "report/by_key.h"

#include <inttypes.h>

static int append_named(struct sprof_str *out, const char *name, int32_t number,
                        enum report_key_style style)
{
    const char *text = name ? name : "?";
    return style == REPORT_KEY_AMONG ? sprof_str_appendf(out, "%s %" PRId32, text, number)
                                     : sprof_str_append(out, text);
}

/* A value that does not show what it is. */
static int append_of(struct sprof_str *out, const char *word, const char *value,
                     enum report_key_style style)
{
    return sprof_str_appendf(out, "%s%s%s", style == REPORT_KEY_AMONG ? word : "",
                             style == REPORT_KEY_AMONG ? " " : "", value);
}

static int append_phase(struct sprof_str *out, const struct report_phase *phase,
                        enum report_key_style style)
{
    const char *mark = phase && phase->mark ? phase->mark : "";
    return sprof_str_appendf(out, "%s%" PRIu32 "%s%s", style == REPORT_KEY_AMONG ? "phase " : "",
                             phase ? phase->number : 0, *mark ? " " : "", mark);
}

int report_key_append(struct sprof_str *out, const struct report_dataset *dataset,
                      enum report_key key, const struct report_cost *cost,
                      enum report_key_style style)
{
    const struct report_thread *thread = &dataset->threads.items[cost->thread - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    const struct store_event *event = &dataset->events.items[cost->event - 1];
    const char *command;
    char number[16];
    switch (key) {
    case REPORT_RUN:
        snprintf(number, sizeof number, "%" PRIu32, process->run);
        return append_of(out, "run", number, style);
    case REPORT_HOST: return sprof_str_append(out, report_dataset_host(dataset, thread->process));
    case REPORT_PROCESS: return append_named(out, process->name, process->pid, style);
    case REPORT_COMMAND:
        command = report_dataset_command(dataset, thread->process);
        return sprof_str_append(out, command && *command ? command : "?");
    case REPORT_USER:
    case REPORT_CGROUP:
    case REPORT_CONTAINER:
        return append_of(out, report_key_word(key),
                         report_key_of_process(dataset, key, thread->process), style);
    case REPORT_THREAD: return append_named(out, thread->name, thread->tid, style);
    case REPORT_CPU:
        snprintf(number, sizeof number, "%" PRId32, cost->cpu);
        return append_of(out, "CPU", cost->cpu < 0 ? "unknown" : number, style);
    case REPORT_EVENT: return sprof_str_append(out, event->name);
    case REPORT_STATE: return sprof_str_append(out, report_event_state(event));
    case REPORT_WAIT: return sprof_str_append(out, report_event_wait(event));
    case REPORT_LOCK:
    case REPORT_HOLDER:
    case REPORT_FIELD:
        return append_of(out, key == REPORT_FIELD ? dataset->fields.name : report_key_word(key),
                         report_dataset_field_text(dataset, cost->fields, report_key_slot(key)),
                         style);
    case REPORT_PHASE:
        return append_phase(out, cost->phase ? &dataset->phases.items[cost->phase - 1] : NULL,
                            style);
    default: return sprof_str_append(out, "?");
    }
}

int report_keys_check(const enum report_key *keys, size_t count, const char *what,
                      struct sprof_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!report_key_is_of_sample(keys[i]))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "%s is grouped by what a whole sample is of, as process, "
                                   "thread, command or cpu, and not by %s",
                                   what, report_key_word(keys[i]));
    return 0;
}

unsigned report_keys_tree_parts(const enum report_key *keys, size_t count)
{
    unsigned parts = REPORT_STACKS;
    for (size_t i = 0; i < count; i++)
        parts |= report_key_part(keys[i]);
    return parts;
}
