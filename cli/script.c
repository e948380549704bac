/* sprof script: the samples themselves. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/values.h"
#include "report/report.h"

#include <stddef.h>

struct arguments {
    const char *input, *thread, *process;
    uint64_t run, limit;
    const struct report_format *format;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"input", 'i', "FILE", "the recording (sprof.db)", FIELD(input), cli_set_text},
    {"thread", 0, "NAME|TID", "only samples of this thread", FIELD(thread), cli_set_text},
    {"process", 0, "NAME|PID", "only samples of this process", FIELD(process), cli_set_text},
    {"run", 0, "N", "which run of an appended recording (the newest)", FIELD(run),
     cli_set_positive},
    {"limit", 'n', "N", "at most so many samples; 0: all (the default)", FIELD(limit),
     cli_set_number},
    {"format", 0, "text|csv|json", "for people (text), or for programs", FIELD(format),
     cli_set_sample_format},
    {0},
};

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    (void)operands;
    const struct arguments *arguments = all;
    if (arguments->run > UINT32_MAX)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--run: there is no such run");
    struct store *store;
    int status = cli_open_recording(&store, arguments->input, terminal, error);
    if (status)
        return status;
    const struct report_selection selection = {
        .thread = arguments->thread,
        .process = arguments->process,
        .run_id = (uint32_t)arguments->run,
    };
    const struct report_style style = {.format = arguments->format};
    status = report_script(stdout, store, &selection, &style, (size_t)arguments->limit, error);
    store_close(store, NULL);
    return status;
}

const struct cli_command cli_script_command = {
    .name = "script",
    .summary = "Print the samples in time order, each with its stack",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
