/* sprof ctl: controls a recording while it runs. */
#include "cli/commands.h"
#include "cli/values.h"
#include "record/record.h"

#include <stddef.h>
#include <stdio.h>

struct arguments {
    const char *input;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording that is being made (sprof.db)", FIELD(input),
     cli_set_text},
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
    int status;
    if (!operands->count)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "give a command: start, stop, status, rate HZ, mark NAME or end");
    else if (command.failed)
        status = sprof_error_memory(error);
    else
        status = record_send_command(arguments->input ? arguments->input : CLI_DEFAULT_RECORDING,
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
    .operands = "start|stop|status|rate HZ|mark NAME|end",
    .options = options,
    .details =
        "start (on) and stop (off) take samples and stop taking them: target and recording go on,\n"
        "and the pause counts for nothing. rate changes the samples a second. mark gives what "
        "follows\n"
        "a name. end ends the recording; a launched command goes on. Each change begins a new "
        "phase\n"
        "of the run (table `phase`).\n"
        "\n"
        "Only the user who records may do this, and root. A program can do it for itself with\n"
        "<sprof.h>.",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
