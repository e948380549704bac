/* sprof export: a recording in another tool's format. */
#include "cli/commands.h"
#include "cli/export_rows.h"
#include "cli/key_list.h"
#include "cli/labels.h"
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
    uint64_t window_ns;
    struct cli_labels labels;
    unsigned without;
    const char *user;
    bool native;
    struct cli_keys by;
};

static void release(void *all)
{
    struct arguments *arguments = all;
    cli_labels_release(&arguments->labels);
    cli_release_rules(all);
}

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"format", 'f',
     "folded|pprof|speedscope|firefox|callgrind|chrome|otlp-traces|"
     "otlp-traces-protobuf|otlp-profiles|tsv|svg|dot|lcov|rows",
     "whose format", FIELD(format), cli_set_profile_format},
    {"output", 'o', "FILE", "the file (sprof. and what the format ends in); -: standard output",
     FIELD(output), cli_set_text},
    {"window", 0, "T", "with rows: costs are added up in windows of so many whole seconds (10s)",
     FIELD(window_ns), cli_set_window},
    {"label", 'l', "KEY=VALUE",
     "with rows and otlp-*: service.name, service.version, host.name, any other", FIELD(labels),
     cli_add_label},
    {"user", 0, "NAME", "with rows: only what this user's processes did", FIELD(user),
     cli_set_text},
    {"without", 0, "LIST", "with rows: leave out labels: user, cgroup, container", FIELD(without),
     cli_set_left_out},
    {"native", 0, NULL, "with rows: in ClickHouse's Native format, a file TABLE.native each",
     FIELD(native), cli_set_flag},
    {"by", 0, "KEY[,KEY…]",
     "with folded, svg and pprof: what samples are of, as keys of `sprof report` "
     "(thread, process, command, user, cgroup, container, state, wait, lock, field:NAME …)",
     FIELD(by), cli_set_keys},
    CLI_SELECTION_OPTIONS,
    {0},
};

static int check(const struct arguments *arguments, struct sprof_error *error)
{
    if (!arguments->format) {
        struct sprof_error formats = {0};
        report_format_find("", REPORT_PROFILE | REPORT_FLEET, &formats);
        return sprof_error_set(error, SPROF_EUSAGE, 0, "in which format? With -f %s",
                               formats.message);
    }
    const bool are_rows = arguments->format->kinds & REPORT_FLEET;
    if (arguments->output && strstr(arguments->output, "://"))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "-o %s: that is an address, and -o names a file; `sprof push --to "
                               "clickhouse+http://HOST:8123` sends recordings",
                               arguments->output);
    if (arguments->window_ns && !are_rows)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--window belongs to -f rows");
    if ((arguments->user || arguments->without) && !are_rows)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--user and --without belong to -f rows");
    if (are_rows && arguments->by.count)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "rows have labels of their own: leave --by out");
    if (arguments->native && !are_rows)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "--native belongs to -f rows");
    if (arguments->labels.list.count && !report_format_takes_labels(arguments->format))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--label belongs to -f rows, otlp-profiles and otlp-traces");
    return 0;
}

static int write_rows(struct cli_terminal *terminal, struct store *store, const char *input,
                      const char *path, const struct arguments *arguments,
                      const struct report_selection *selection, struct sprof_error *error)
{
    static const uint64_t usual_window_ns = 10000000000;
    const struct cli_export_rows wanted = {
        .terminal = terminal,
        .store = store,
        .input = input,
        .path = path,
        .native = arguments->native,
        .selection = selection,
        .options =
            {
                .window_ns = arguments->window_ns ? arguments->window_ns : usual_window_ns,
                .labels = cli_labels_of(&arguments->labels),
                .without = arguments->without,
                .user = arguments->user,
                .sprof_version = SPROF_VERSION,
            },
    };
    return cli_export_rows(&wanted, error);
}

static int write_file(struct cli_terminal *terminal, struct store *store, const char *input,
                      const char *path, const struct arguments *arguments,
                      const struct report_selection *selection, struct sprof_error *error)
{
    struct cli_output output;
    const struct report_export_options beside = {.labels = cli_labels_of(&arguments->labels),
                                                 .keys = arguments->by.items,
                                                 .key_count = arguments->by.count};
    int status = cli_output_open(&output, path, input, error);
    if (!status)
        status = cli_output_close(
            &output,
            report_export(output.file, store, selection, arguments->format, &beside, error), error);
    if (!status && strcmp(path, "-") != 0)
        cli_say(terminal, "%s", path);
    return status;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    char usual[64];
    int status = check(arguments, error);
    if (!status)
        status = cli_selection_finish(&arguments->selection, operands, error);
    const bool are_rows = !status && arguments->format->kinds & REPORT_FLEET;
    if (!status && !are_rows && report_format_takes_labels(arguments->format))
        status = cli_add_otel_labels(&arguments->labels, &terminal->log, error);
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
    struct report_selection selection = cli_selection_of(&arguments->selection);
    cli_keys_select(&arguments->by, &selection);
    status = (are_rows ? write_rows : write_file)(terminal, store, input, path, arguments,
                                                  &selection, error);
    store_close(store, NULL);
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
        "otlp-traces OpenTelemetry: calls that `trace --keep` has kept, as spans (JSON)\n"
        "otlp-traces-protobuf\n"
        "            the same spans in protobuf\n"
        "otlp-profiles\n"
        "            OpenTelemetry: profiles of OTLP 1.10 and 1.11 (protobuf)\n"
        "            OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES label otlp-* where -l does "
        "not\n"
        "tsv         databases and spreadsheets: a row for each thread and call path\n"
        "svg         a flame graph as a picture\n"
        "dot         the call graph, for Graphviz\n"
        "lcov        lcov, genhtml: functions that were called, of `trace --mode coverage`\n"
        "rows        ClickHouse, DuckDB: five tables of many hosts, with keys that are the same "
        "in\n"
        "            all builds; files in a directory, or one stream; `sprof import -f rows` "
        "reads\n"
        "            any selection of them\n",
    .arguments_size = sizeof(struct arguments),
    .release = release,
    .run = run,
};
