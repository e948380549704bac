/* Chooses between the recordings and traces that are being made of a process. */
#include "cli/controlled.h"
#include "control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choice {
    pid_t pid;
    enum cli_controlled wanted;
    size_t records, traces;
    const char *output; /* of the last one that is wanted */
    struct sprof_str text, others;
};

static void add(struct choice *choice, const char *output, bool is_trace)
{
    const bool is_wanted =
        choice->wanted == CLI_CONTROL_ANY || is_trace == (choice->wanted == CLI_CONTROL_TRACE);
    struct sprof_str *text = is_wanted ? &choice->text : &choice->others;
    sprof_str_appendf(text, "%s%s into %s", text->length ? " and " : "",
                      is_trace ? "traced" : "sampled", output);
    if (!is_wanted)
        return;
    choice->records += !is_trace;
    choice->traces += is_trace;
    choice->output = output;
}

/* What answers as traces do is one. */
static void add_file(struct choice *choice, const char *output, pid_t recorder)
{
    struct sprof_str answer = {0};
    struct sprof_error unanswered = {0};
    if (!control_send(output, recorder, "status fields", &answer, &unanswered) && answer.text)
        add(choice, output, strstr(answer.text, "probes#") != NULL);
    sprof_str_release(&answer);
}

static int choose(const struct choice *choice, struct sprof_error *error)
{
    static const char *const nothing[] = {
        [CLI_CONTROL_ANY] = "has no recording or trace that you may control",
        [CLI_CONTROL_RECORD] = "has no recording that you may control",
        [CLI_CONTROL_TRACE] = "has no trace that you may control",
    };
    const size_t count = choice->records + choice->traces;
    if (count == 1)
        return 0;
    if (!count && choice->wanted == CLI_CONTROL_TRACE && inject_listens(choice->pid))
        return sprof_error_set(
            error, SPROF_ESTATE, 0,
            "process %d listens and is not being traced: its probes are off, and "
            "there is nothing to take out\n`sprof trace -p %d` traces it",
            (int)choice->pid, (int)choice->pid);
    if (!count && choice->others.length)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d is not being %s, but %s\n`sprof ctl -p %d --%s` is for "
                               "that",
                               (int)choice->pid,
                               choice->wanted == CLI_CONTROL_TRACE ? "traced" : "recorded",
                               choice->others.text, (int)choice->pid,
                               choice->wanted == CLI_CONTROL_TRACE ? "record" : "trace");
    if (!count)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d %s\n`sprof ctl -i FILE` controls what is recorded into "
                               "a file",
                               (int)choice->pid, nothing[choice->wanted]);
    return sprof_error_set(error, SPROF_EUSAGE, 0, "process %d is %s: choose with %s",
                           (int)choice->pid, choice->text.text ? choice->text.text : "",
                           choice->records == 1 && choice->traces == 1 ? "--record or --trace"
                                                                       : "-i FILE");
}

int cli_find_controlled(pid_t pid, enum cli_controlled wanted, char output[INJECT_OUTPUT_BYTES],
                        bool *is_alive, struct sprof_error *error)
{
    struct choice choice = {.pid = pid, .wanted = wanted};
    struct control_files files;
    char traced[INJECT_OUTPUT_BYTES] = "";
    const int owned = inject_find_owner(pid, traced, is_alive, error);
    const bool may_be_recorded =
        owned == SPROF_ESTATE || owned == SPROF_EPERMISSION || owned == SPROF_EUNSUPPORTED;
    if (owned && !may_be_recorded)
        return owned;
    if (control_find(pid, &files))
        return sprof_error_memory(error);
    if (!owned && *is_alive)
        add(&choice, traced, true);
    char *resolved = realpath(traced, NULL); /* as the kernel names it */
    for (size_t i = 0; i < files.list.count; i++)
        if (!resolved || strcmp(files.list.items[i], resolved) != 0)
            add_file(&choice, files.list.items[i], files.recorders.items[i]);
    const bool is_left = !owned && !*is_alive && wanted != CLI_CONTROL_RECORD;
    int result = 0;
    if (is_left && choice.records + choice.traces == 0)
        choice.output = traced;
    else if (owned && owned != SPROF_ESTATE && choice.records + choice.traces == 0)
        result = owned;
    else
        result = choose(&choice, error);
    if (!result) {
        snprintf(output, INJECT_OUTPUT_BYTES, "%s", choice.output);
        *is_alive = choice.output != traced || *is_alive;
    }
    free(resolved);
    sprof_str_release(&choice.text);
    sprof_str_release(&choice.others);
    control_files_release(&files);
    return result;
}
