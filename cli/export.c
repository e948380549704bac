/* sprof export: a recording in another tool's format. */
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/output.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "report/report.h"

#include <stddef.h>
#include <string.h>

struct arguments {
    struct cli_selection selection; /* first: see cli_release_rules */
    const char *output;
    const struct report_format *format;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"format", 'f', "folded|pprof|speedscope|firefox|callgrind|chrome|tsv|svg|dot|lcov",
     "whose format", FIELD(format), cli_set_profile_format},
    {"output", 'o', "FILE", "the file (sprof. and what the format ends in); -: standard output",
     FIELD(output), cli_set_text},
    CLI_SELECTION_OPTIONS,
    {0},
};

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    char usual[64];
    if (!arguments->format) {
        struct sprof_error formats = {0};
        report_format_find("", REPORT_PROFILE, &formats);
        return sprof_error_set(error, SPROF_EUSAGE, 0, "in which format? With -f %s",
                               formats.message);
    }
    int status = cli_selection_finish(&arguments->selection, operands, error);
    if (status)
        return status;
    snprintf(usual, sizeof usual, "sprof%s", arguments->format->extension);
    const char *input =
        arguments->selection.input ? arguments->selection.input : CLI_DEFAULT_RECORDING;
    const char *path = arguments->output ? arguments->output : usual;
    struct store *store;
    status = cli_open_recording(&store, input, terminal, error);
    if (status)
        return status;
    const struct report_selection selection = cli_selection_of(&arguments->selection);
    struct cli_output output;
    status = cli_output_open(&output, path, input, error);
    if (!status)
        status = cli_output_close(
            &output, report_export(output.file, store, &selection, arguments->format, error),
            error);
    store_close(store, NULL);
    if (!status && strcmp(path, "-") != 0)
        cli_say(terminal, "%s", path);
    return status;
}

const struct cli_command cli_export_command = {
    .name = "export",
    .summary = "Write a recording in the format of another tool",
    .operands = "[RECORDING]",
    .options = options,
    .details =
        "folded      FlameGraph, speedscope, inferno, Perfetto\n"
        "pprof       go tool pprof, Pyroscope, Parca\n"
        "speedscope  www.speedscope.app\n"
        "firefox     profiler.firefox.com\n"
        "callgrind   callgrind_annotate, KCachegrind\n"
        "chrome      chrome://tracing, Perfetto: slices inferred from samples; of a log its calls\n"
        "tsv         databases and spreadsheets: a row for each thread and call path\n"
        "svg         a flame graph as a picture\n"
        "dot         the call graph, for Graphviz\n"
        "lcov        lcov, genhtml: functions that were called, of `trace --mode coverage`\n",
    .arguments_size = sizeof(struct arguments),
    .release = cli_release_rules,
    .run = run,
};
