/* sprof ctl: controls a recording while it runs. */
#include "cli/commands.h"
#include "cli/values.h"
#include "control/control.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *input;
    bool frame_app;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording that is being made (sprof.db)", FIELD(input),
     cli_set_text},
    {"frame", 0, "app", "with mode pc: the innermost application frame instead", FIELD(frame_app),
     cli_set_frame},
    {0},
};

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    (void)terminal;
    const struct arguments *arguments = all;
    struct sprof_str command = {0}, answer = {0};
    for (int i = 0; i < operands->count; i++)
        sprof_str_appendf(&command, "%s%s", i ? " " : "", operands->items[i]);
    const bool is_mode_pc = command.text && !strcmp(command.text, "mode pc");
    if (arguments->frame_app && is_mode_pc)
        sprof_str_append(&command, " --frame app");
    int status;
    if (!operands->count)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "give a command: start, stop, status, clear, mode MODE, rate HZ, "
                                 "mark NAME or end");
    else if (arguments->frame_app && !is_mode_pc)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "--frame app belongs to `mode pc`: give both or neither");
    else if (command.failed)
        status = sprof_error_memory(error);
    else
        status = control_send(arguments->input ? arguments->input : CLI_DEFAULT_RECORDING,
                              command.text, &answer, error);
    if (!status)
        puts(answer.text ? answer.text : "");
    sprof_str_release(&command);
    sprof_str_release(&answer);
    return status;
}

const struct cli_command cli_ctl_command = {
    .name = "ctl",
    .summary = "control a recording while it runs",
    .operands = "start|stop|status|clear|mode full|app|pc|rate HZ|mark NAME|end",
    .options = options,
    .details =
        "start (on) and stop (off) take samples and stop taking them: target and recording go on,\n"
        "and the pause counts for nothing. clear drops what was recorded so far, as if it began\n"
        "now. mode changes what samples hold, rate how many there are a second. mark gives what\n"
        "follows a name. end ends the recording; a launched command goes on. Each change begins\n"
        "a new phase of the run (report --by phase, --phase N, --mark NAME). Over several modes\n"
        "a report is read in the least detailed of them.\n"
        "\n"
        "Only the user who records may do this, and root. A program can do it for itself with\n"
        "<sprof.h>.",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
