/* sprof script: the samples themselves. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/selection.h"
#include "report/report.h"

#include <stddef.h>

struct arguments {
    struct cli_selection selection; /* first: see cli_release_rules */
    uint64_t limit, over_ns;
    bool full_names;
    const struct report_format *format;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    CLI_SELECTION_OPTIONS,
    {"limit", 'n', "N", "at most so many samples or calls; 0: all (the default)", FIELD(limit),
     cli_set_number},
    {"over", 0, "T", "of calls: only those that took T or longer, such as 10ms or 20us",
     FIELD(over_ns), cli_set_duration},
    {"full-names", 0, NULL, "of calls: functions with parameters and template arguments",
     FIELD(full_names), cli_set_flag},
    {"format", 0, "text|csv|json", "for people (text), or for programs", FIELD(format),
     cli_set_sample_format},
    {0},
};

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct store *store;
    int status = cli_selection_finish(&arguments->selection, operands, error);
    if (!status)
        status = cli_open_recording(&store, arguments->selection.input, terminal, error);
    if (status)
        return status;
    struct report_selection selection = cli_selection_of(&arguments->selection);
    const struct report_selection kept = selection;
    selection.all_events = !selection.event;
    const struct report_style style = {.format = arguments->format};
    uint32_t run;
    status = report_flow_kind(store, selection.run_id, &run, error);
    const struct report_flow_options flow = {
        .format = arguments->format,
        .limit = arguments->limit,
        .over_ns = arguments->over_ns,
        .full_names = arguments->full_names,
    };
    if (status == REPORT_FLOW_KEPT)
        status = report_flow_write_kept(stdout, store, &kept, &flow, error);
    else if (status == REPORT_FLOW_LOGGED)
        status = report_flow_write(stdout, store, run, &selection, &flow, error);
    else if (!status && arguments->over_ns)
        status = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "--over needs calls that were logged or kept: `sprof trace "
                                 "--mode log -- COMMAND` writes them down");
    else if (!status)
        status = report_script(stdout, store, &selection, &style, (size_t)arguments->limit, error);
    store_close(store, NULL);
    return status;
}

const struct cli_command cli_script_command = {
    .name = "script",
    .summary = "Print the samples in time order, each with its stack; calls of a log or kept ones",
    .operands = "[FILE]",
    .options = options,
    .arguments_size = sizeof(struct arguments),
    .run = run,
    .release = cli_release_rules,
};
